import type { Locator, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerJson, finishChunk, type Step, sse, textChunk } from '../../helpers/scripted-upstream.js'
import { openVisit, say, streamOf, type Visit } from './visit.js'

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const message = { role: 'assistant', content: 'Late.' }
const completion = answerJson({
  id: 'up',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage,
}) as readonly Step[]

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

describe('a call stopped in the playground', { timeout: 120_000 }, () => {
  let visit: Visit
  let page: Page
  let stop: Locator

  beforeAll(async () => {
    visit = await openVisit()
    page = await visit.open('alice', 'playground')
    stop = page.getByRole('button', { name: 'Stop' })
  }, 180_000)

  afterAll(() => visit?.close())

  const last = (selector: string) => page.locator('.turn').last().locator(selector)

  it('shows its charge, even if no byte of its reply had arrived', async () => {
    const { opened, open } = gate()
    visit.upstream.scriptOnce([{ wait: opened }, ...completion])
    const held = page.locator('.balance .held')
    const asked = visit.upstream.nextRequest()
    await page.getByLabel('Stream the reply').uncheck()
    await say(page, 'Hello')
    await asked
    await stop.click()
    await held.waitFor()
    open()
    await last('[data-cost="0.00000585"]').waitFor()
    await held.waitFor({ state: 'detached' })
    await last('.cost').getByRole('link', { name: 'Find it in Calls' }).click()
    await page.locator('tr.is-open').getByTitle('0.00000585 credits').first().waitFor()
  })

  it.each<[string, string, (route: Route, body: string) => Promise<void>]>([
    ['before its reply', 'The connection to the router was lost', (route) => route.abort('connectionreset')],
    [
      'midway',
      'The stream ended before it was complete',
      (route, body) =>
        route.fulfill({
          headers: { 'content-type': 'text/event-stream' },
          body: `${body.split('\n\n', 1)[0]}\n\n`,
        }),
    ],
  ])('shows its charge, as does one whose connection broke %s', async (_, complaint, breakOff) => {
    const broken = await visit.open('alice', 'playground')
    visit.upstream.scriptOnce(streamOf(['Never', ' seen']))
    await broken.route(
      '**/chat/completions',
      async (route) => breakOff(route, await (await route.fetch()).text()),
      { times: 1 },
    )
    await say(broken, 'Hello')
    await broken.getByRole('alert').getByText(complaint).waitFor()
    await broken.locator('[data-cost="0.00000585"]').waitFor()
    await broken.getByText('The call was charged:').waitFor()
    await broken.context().close()
  })

  it('shows its charge even if the first request for the charge is never answered', async () => {
    const broken = await visit.open('alice', 'playground')
    visit.upstream.scriptOnce(streamOf(['Never', ' seen']))
    let looks = 0
    await broken.route('**/api/events?*', (route) => {
      looks++
      return looks === 1 ? undefined : route.continue()
    })
    await broken.route('**/chat/completions', async (route) => {
      await (await route.fetch()).text()
      await route.abort('connectionreset')
    })
    await say(broken, 'Hello')
    await broken.locator('[data-cost="0.00000585"]').waitFor()
    expect(looks).toBe(2)
    await broken.context().close()
  })

  it('shows its charge even if it ran in another process', async () => {
    const there = await visit.open('alice', 'playground')
    const { opened, open } = gate()
    visit.upstream.scriptOnce([{ wait: opened }, ...completion])
    await there.route('**/api/events?*', (route) =>
      route.fulfill({ json: { events: [], capacity: 1_000, completedASecond: 100, unauthenticated: 100 } }),
    )
    const asked = visit.upstream.nextRequest()
    await there.getByLabel('Stream the reply').uncheck()
    await say(there, 'Hello')
    await asked
    await there.getByRole('button', { name: 'Stop' }).click()
    await there.getByText('The charge will appear here').waitFor()
    open()
    await there.locator('[data-cost="0.00000585"]').waitFor()
    await there.context().close()
  })

  it('links to the Calls page and reloads the balance if its charge does not arrive', async () => {
    const slow = await visit.open('alice', 'spend')
    await slow.clock.install()
    await slow.goto(`${visit.stage.consoleUrl}#/playground`)
    const { opened, open } = gate()
    visit.upstream.scriptOnce([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: sse([textChunk('The first half')]) },
      { wait: opened },
      { write: sse([finishChunk(), { ...textChunk(''), choices: [], usage }, '[DONE]']) },
      'end',
    ])
    await say(slow, 'Hello')
    await slow.locator('.said').filter({ hasText: 'The first half' }).waitFor()
    const balanceRead = slow.waitForResponse('**/api/accounts?*')
    await slow.getByRole('button', { name: 'Stop' }).click()
    await slow.getByText('The charge will appear here').waitFor()
    await balanceRead
    await slow.route('**/api/accounts?*', (route) => route.fulfill({ status: 500, json: {} }))
    const link = slow.getByRole('link', { name: 'Look for it in Calls' })
    await expect
      .poll(
        async () => {
          await slow.clock.fastForward(10_000)
          return link.count()
        },
        { timeout: 60_000, interval: 20 },
      )
      .toBe(1)
    await slow.getByRole('alert').waitFor()
    expect(await link.getAttribute('href')).toMatch(/call=[0-9a-f]{32}/)
    open()
    await slow.context().close()
  })

  it('moves the focus to the message if it was stopped by keyboard', async () => {
    await page.goto(`${visit.stage.consoleUrl}#/playground`)
    const { opened, open } = gate()
    visit.upstream.scriptOnce([{ wait: opened }, ...completion])
    await say(page, 'Hello')
    await stop.press('Enter')
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    expect(await page.getByLabel('Message').evaluate((element) => element.matches(':focus'))).toBe(true)
    open()
    expect(visit.complaints).toEqual([])
  })
})
