import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type ScriptedRequest,
  sse,
  textChunk,
} from '../../helpers/scripted-upstream.js'
import { openVisit, say, streamOf, type Visit } from './visit.js'

let visit: Visit
let page: Page

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

beforeAll(async () => {
  visit = await openVisit()
  page = await visit.open('alice', 'playground')
}, 180_000)

afterAll(() => visit?.close())

const last = (selector: string) => page.locator('.turn').last().locator(selector)
const isOver = () => last('[data-cost]').waitFor()

function deltaOf(index: number, delta: object, finish_reason: string | null = null): object {
  return { ...textChunk(''), choices: [{ index, delta, finish_reason }] }
}

async function startAnew(): Promise<void> {
  await page.goto(`${visit.stage.consoleUrl}#/playground`)
  await page.reload()
  await page.getByLabel('Message').waitFor()
}

/** Returns the body of the call in the curl sample. */
async function sampleBody(): Promise<unknown> {
  await page.getByRole('button', { name: 'curl', exact: true }).click()
  const sample = await page.getByLabel('The call as curl').inputValue()
  return JSON.parse(/-d '([\s\S]*)'\n$/.exec(sample)![1]!)
}

/** Sends the draft, and checks that the sample showed the same call before. */
async function expectSampleIsSent(send: () => Promise<void>): Promise<ScriptedRequest> {
  const sent = page.waitForRequest('**/chat/completions')
  const sample = await sampleBody()
  const asked = visit.upstream.nextRequest()
  await send()
  expect(sample).toEqual((await sent).postDataJSON())
  await isOver()
  return asked
}

describe('a reply in the playground', { timeout: 120_000 }, () => {
  it('with several choices shows the first, and says that there are more', async () => {
    visit.upstream.scriptOnce(
      answerEvents([
        deltaOf(1, { content: 'B1 ' }),
        deltaOf(0, { content: 'A1 ' }),
        deltaOf(1, { content: 'B2' }, 'stop'),
        deltaOf(0, { content: 'A2' }, 'stop'),
        { ...textChunk(''), choices: [], usage },
      ]),
    )
    await page.getByLabel('Further fields').fill('{ "n": 2 }')
    await say(page, 'Hello')
    await isOver()
    expect(await last('.said').allTextContents()).toEqual(['A1 A2'])
    expect(await last('.hint').textContent()).toContain('The first of 2 choices')
  })

  it.each([true, false])(
    'that is a refusal is shown and sent with the next call; streamed: %j',
    async (isStream) => {
      await startAnew()
      await page.getByLabel('Stream the reply').setChecked(isStream)
      const refusal = 'I cannot help with that.'
      const message = { role: 'assistant', content: null, refusal }
      visit.upstream.scriptOnce(
        isStream
          ? answerEvents([deltaOf(0, { refusal }), finishChunk(), { ...textChunk(''), choices: [], usage }])
          : answerJson({
              id: 'up',
              object: 'chat.completion',
              created: 1,
              model: 'm',
              choices: [{ index: 0, message, finish_reason: 'stop' }],
              usage,
            }),
        streamOf(['Well.']),
      )
      await say(page, 'Hello')
      await isOver()
      expect(await last('.said').textContent()).toBe(refusal)
      await page.getByLabel('Stream the reply').check()
      await page.getByLabel('Message').fill('And now?')
      const { body } = await expectSampleIsSent(() => page.getByLabel('Message').press('Enter'))
      // Most providers take a reply only with content.
      const sent = { role: 'assistant', content: refusal }
      expect(body).toMatchObject({ messages: [{ role: 'user' }, sent, { content: 'And now?' }] })
    },
  )
})

describe('a code sample in the playground', { timeout: 120_000 }, () => {
  it('shows the call that follows a failed call', async () => {
    await startAnew()
    visit.upstream.scriptOnce(answerJson({ error: { message: 'No.' } }, 400), streamOf(['Well.']))
    await say(page, 'First')
    await last('[role="alert"]').waitFor()
    await page.getByLabel('Message').fill(' Second ')
    await expectSampleIsSent(() => page.getByLabel('Message').press('Enter'))
  })

  it('contains the answered tool calls', async () => {
    await startAnew()
    const call = { index: 0, id: 'call-1', type: 'function', function: { name: 'now', arguments: '{}' } }
    visit.upstream.scriptOnce(
      answerEvents([
        deltaOf(0, { tool_calls: [call] }, 'tool_calls'),
        { ...textChunk(''), choices: [], usage },
      ]),
      streamOf(['It is noon.']),
      streamOf(['Always.']),
    )
    await say(page, 'What time is it?')
    await page.getByLabel('Answer of now').fill('12:00')
    await page.getByRole('button', { name: 'Send the answers' }).click()
    await last('.said').filter({ hasText: 'It is noon.' }).waitFor()
    await page.getByLabel('Message').fill('Sure?')
    const { body } = await expectSampleIsSent(() => page.getByLabel('Message').press('Enter'))
    expect(body).toMatchObject({
      messages: [{}, { tool_calls: [{ id: 'call-1' }] }, { role: 'tool' }, {}, {}],
    })
  })
})

describe('an unanswered tool call in the playground', { timeout: 120_000 }, () => {
  const callOf = (given: string) => ({
    tool_calls: [{ index: 0, id: 'call-1', type: 'function', function: { name: 'now', arguments: given } }],
  })

  it('is not sent to the provider, which would refuse every later call', async () => {
    await startAnew()
    visit.upstream.scriptOnce(
      answerEvents([
        deltaOf(0, { content: 'Let me look.' }),
        deltaOf(0, callOf('{}'), 'tool_calls'),
        { ...textChunk(''), choices: [], usage },
      ]),
      streamOf(['Well.']),
    )
    await say(page, 'What time is it?')
    await page.getByLabel('Answer of now').waitFor()
    await page.getByLabel('Message').fill('Never mind')
    const { body } = await expectSampleIsSent(() => page.getByLabel('Message').press('Enter'))
    expect((body as { messages: unknown }).messages).toEqual([
      { role: 'user', content: 'What time is it?' },
      { role: 'assistant', content: 'Let me look.' },
      { role: 'user', content: 'Never mind' },
    ])
  })

  it('is not sent if it was stopped midway either', async () => {
    await startAnew()
    visit.upstream.scriptOnce(
      async (reply) => {
        reply.head(200, { 'content-type': 'text/event-stream' })
        const more = { tool_calls: [{ index: 0, function: { arguments: '"Eur' } }] }
        await reply.write(sse([deltaOf(0, callOf('{ "zone": ')), deltaOf(0, more)]))
        await reply.closed
      },
      streamOf(['Well.']),
    )
    await say(page, 'What time is it?')
    await last('.tool-calls').filter({ hasText: 'Eur' }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText(/^Stopped/).waitFor()
    await page.getByLabel('Message').fill('Never mind')
    const { body } = await expectSampleIsSent(() => page.getByLabel('Message').press('Enter'))
    expect((body as { messages: unknown }).messages).toEqual([
      { role: 'user', content: 'What time is it?' },
      { role: 'user', content: 'Never mind' },
    ])
  })
})

it('the playground aligns a reply in a right-to-left script to the right', { timeout: 120_000 }, async () => {
  await startAnew()
  visit.upstream.scriptOnce(streamOf(['שלום עולם!']))
  await say(page, 'Hello')
  await isOver()
  const fromRight = `{
    const said = [...document.querySelectorAll('.said')].at(-1)
    const range = document.createRange()
    range.selectNodeContents(said)
    said.getBoundingClientRect().right - range.getBoundingClientRect().right
  }`
  expect(await page.evaluate(fromRight)).toBeLessThan(1)
})

describe('a JSON field of the console', { timeout: 120_000 }, () => {
  it('is not sent with a number that would lose digits', async () => {
    await startAnew()
    await page.getByLabel('Further fields').fill('{ "seed": 12345678901234567890 }')
    await page.getByLabel('Message').fill('Hello')
    await page.getByLabel('Message').press('Enter')
    await page.getByText('12345678901234567890 cannot be sent as it is').first().waitFor()
    expect(await page.locator('.turn').count()).toBe(0)
    await page.getByLabel('Further fields').fill('{ "seed": 1234567890123456 }')
    visit.upstream.scriptOnce(streamOf(['Well.']))
    const asked = visit.upstream.nextRequest()
    await page.getByLabel('Message').press('Enter')
    expect((await asked).body).toMatchObject({ seed: 1234567890123456 })
    expect(visit.complaints).toEqual([])
  })
})

describe('a limit typed in a national number format', { timeout: 120_000 }, () => {
  it.each(['1.000', '1,000', '1 000', '1e3', '-1'])('is not sent as a different number: %s', async (text) => {
    await startAnew()
    const before = visit.upstream.requests.length
    await page.getByLabel('Max tokens').fill(text)
    await page.getByLabel('Message').fill('Hello')
    await page.getByLabel('Message').press('Enter')
    await page.getByText('In max_tokens: This must be a whole number, or empty.').waitFor()
    expect(visit.upstream.requests.length).toBe(before)
    await page.getByLabel('Max tokens').fill('')
  })
})

describe('a reply to the console from something other than the server', { timeout: 120_000 }, () => {
  const page200 = { status: 200, contentType: 'text/html', body: '<h1>Sign in</h1>' }

  it("is recognised if it replaces the router's", async () => {
    await startAnew()
    await page.route('**/chat/completions', (route) => route.fulfill(page200), { times: 1 })
    await say(page, 'Hello')
    await page.getByRole('alert').filter({ hasText: 'The reply cannot be read.' }).waitFor()
    await page.getByRole('alert').filter({ hasText: 'reload this page' }).waitFor()
    await page.getByRole('button', { name: 'Frames' }).click()
    expect(await page.getByLabel('Frames of the last reply').inputValue()).toContain(page200.body)
    await page.getByRole('button', { name: 'Parameters' }).click()
  })

  it("is recognised if it replaces the console's", async () => {
    const other = await visit.open('alice', 'nowhere')
    await other.route('**/api/entries', (route) => route.fulfill(page200))
    await other.evaluate("location.hash = '#/calls'")
    await other.getByRole('alert').filter({ hasText: 'reload this page' }).waitFor()
    await other.context().close()
  })
})
