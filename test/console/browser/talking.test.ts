import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type Step,
  sse,
  textChunk,
} from '../../helpers/scripted-upstream.js'
import { openVisit, say, streamOf, type Visit } from './visit.js'

let visit: Visit
let page: Page

beforeAll(async () => {
  visit = await openVisit()
  page = await visit.open('alice', 'playground')
}, 180_000)

afterAll(() => visit?.close())

const last = (selector: string) => page.locator('.turn').last().locator(selector)

/** Stops the next reply after its first words, until the returned function is called. */
function holdInTheMiddle(first: string, rest: string): () => void {
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  visit.upstream.scriptOnce([
    { head: 200, headers: { 'content-type': 'text/event-stream' } },
    { write: sse([textChunk(first)]) },
    { wait: gate },
    { write: sse([textChunk(rest), finishChunk()]) },
    {
      write: sse([
        {
          ...textChunk(''),
          choices: [],
          usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
        },
        '[DONE]',
      ]),
    },
    'end',
  ])
  return release
}

describe('a conversation in the playground', { timeout: 120_000 }, () => {
  it('shows text as it arrives, stops on request, and still shows the charge', async () => {
    const release = holdInTheMiddle('The first half', ' and the second.')
    await say(page, 'Hello')
    await last('.said').filter({ hasText: 'The first half' }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    release()
    await last('[data-cost="0.00000585"]').waitFor({ timeout: 60_000 })
    expect(await last('.said').textContent()).toBe('The first half')
  })

  it('appears on the Live page while it waits, and disappears when the call has ended', async () => {
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    visit.upstream.scriptOnce([{ wait: gate }, ...(streamOf(['Late.']) as readonly Step[])])
    const live = await visit.open('operator', 'live')
    await live.getByText('No call is in flight in this process.').waitFor()
    await say(page, 'Hello')
    const row = live.getByRole('table', { name: /^Calls in flight/ }).locator('tbody tr')
    // The row appears before the route is chosen.
    await row.filter({ hasText: 'acme:acme/fast' }).waitFor()
    release()
    await live.getByText('No call is in flight in this process.').waitFor()
    await live
      .getByRole('table', { name: /^Routes/ })
      .getByText('in use')
      .waitFor()
    await last('.said').filter({ hasText: 'Late.' }).waitFor()
    await live.context().close()
  })

  it('continues while other pages are shown, and is complete when it is shown again', async () => {
    const release = holdInTheMiddle('Before you leave', ' and after.')
    await page.getByLabel('Model').selectOption('acme/smart')
    await say(page, 'Wait for me')
    await last('.said').filter({ hasText: 'Before you leave' }).waitFor()
    await page.getByRole('link', { name: 'Spend', exact: true }).click()
    await page.getByRole('heading', { name: 'Spend', level: 1 }).waitFor()
    release()
    await page.getByRole('link', { name: 'Playground', exact: true }).click()
    await last('.said').filter({ hasText: 'Before you leave and after.' }).waitFor()
    await last('[data-cost]').waitFor()
    expect(await page.locator('.turn').filter({ hasText: 'Wait for me' }).count()).toBe(1)
    expect(await page.getByLabel('Model').inputValue()).toBe('acme/smart')
    await page.getByLabel('Model').selectOption('acme/fast')
  })

  it('keeps its account and app, whichever way it is reopened', async () => {
    const operators = await visit.open('operator', 'playground')
    const chosen = async () => ({
      model: await operators.getByLabel('Model').inputValue(),
      account: await operators.getByLabel('Account that pays').inputValue(),
      app: await operators.getByLabel('Acts through').inputValue(),
    })
    const link = (name: string) => operators.getByRole('link', { name, exact: true })
    const atHome = () => operators.getByRole('heading', { name: 'Playground', level: 1 }).waitFor()
    await operators.getByLabel('Account that pays').selectOption('bob')
    await operators.getByLabel('Acts through').selectOption('notes')
    await operators.getByLabel('Model').selectOption('acme/smart')
    await operators.getByLabel('Message').fill('Not sent yet')
    const bobs = { model: 'acme/smart', account: 'bob', app: 'notes' }
    await link('Spend').click()
    await operators.getByRole('heading', { name: 'Spend', level: 1 }).waitFor()
    await link('Playground').click()
    await atHome()
    await expect.poll(chosen).toEqual(bobs)
    expect(await operators.getByLabel('Message').inputValue()).toBe('Not sent yet')
    await operators.goBack()
    await operators.getByRole('heading', { name: 'Spend', level: 1 }).waitFor()
    await operators.goForward()
    await atHome()
    await expect.poll(chosen).toEqual(bobs)
    await link('Playground').click()
    await expect.poll(chosen).toEqual(bobs)
    await operators.goto(`${visit.stage.consoleUrl}#/playground?model=acme%2Ffast`)
    await expect.poll(chosen).toEqual({ ...bobs, model: 'acme/fast' })
    await operators.getByLabel('Acts through').selectOption('')
    await link('Spend').click()
    await operators.getByRole('heading', { name: 'Spend', level: 1 }).waitFor()
    await link('Playground').click()
    await expect.poll(chosen).toEqual({ model: 'acme/fast', account: 'bob', app: '' })
    await operators.context().close()
  })

  it('keeps an account that was not chosen but has paid', async () => {
    const operators = await visit.open('operator', 'playground')
    const payer = () => operators.getByLabel('Account that pays').inputValue()
    await expect.poll(payer).toBe('alice')
    visit.upstream.scriptOnce(streamOf(['Hello.']))
    await say(operators, 'Hello')
    await operators.locator('[data-cost]').last().waitFor()
    await operators.getByRole('link', { name: 'Accounts', exact: true }).click()
    await operators.getByRole('heading', { name: 'Accounts', level: 1 }).waitFor()
    await visit.stage.admin.accounts.credit({ account: 'aaa', amount: '5', reference: 'first in the list' })
    await operators.getByRole('link', { name: 'Playground', exact: true }).click()
    await operators.getByLabel('Account that pays').waitFor()
    await expect
      .poll(() => operators.getByLabel('Account that pays').locator('option').allTextContents())
      .toContain('aaa')
    expect(await payer()).toBe('alice')
    await operators.context().close()
  })

  it('sends the parameters as typed, and names an invalid one', async () => {
    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.getByLabel('Temperature').fill('warm')
    await say(page, 'Hello')
    await page.getByText('This must be a number, or empty.').first().waitFor()
    for (const [label, value] of Object.entries({
      Temperature: '0.5',
      'Top p': '0.9',
      'Max tokens': '64',
      Session: 'tuesday',
      'System prompt': 'Be brief.',
      Tools: '[{ "type": "function", "function": { "name": "now" } }]',
      'Further fields': '{ "seed": 7 }',
    })) {
      await page.getByLabel(label).fill(value)
    }
    await page.getByLabel('Stream the reply').uncheck()
    const tool = { id: 'call-1', type: 'function', function: { name: 'now', arguments: '{"zone":"UTC"}' } }
    visit.upstream.scriptOnce(
      answerJson({
        id: 'up',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: null, tool_calls: [tool] },
            finish_reason: 'tool_calls',
          },
        ],
        usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
      }),
    )
    await say(page, 'What time is it?')
    await last('.tool-calls').waitFor()
    expect(visit.upstream.requests.at(-1)?.body).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'What time is it?' },
      ],
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 64,
      seed: 7,
      tools: [{ type: 'function', function: { name: 'now' } }],
    })
    expect(visit.upstream.requests.at(-1)?.body).not.toHaveProperty('session_id')
  })

  it("sends a tool's answer to the model", async () => {
    visit.upstream.scriptOnce(streamOf(['It is noon.']))
    await page.getByLabel('Stream the reply').check()
    await page.getByLabel('Answer of now').fill('12:00')
    await page.getByRole('button', { name: 'Send the answers' }).click()
    await last('.said').filter({ hasText: 'It is noon.' }).waitFor()
    const { messages } = visit.upstream.requests.at(-1)!.body as { messages: object[] }
    expect(messages.slice(-2)).toMatchObject([
      {
        role: 'assistant',
        tool_calls: [{ id: 'call-1', function: { name: 'now', arguments: '{"zone":"UTC"}' } }],
      },
      { role: 'tool', tool_call_id: 'call-1', content: '12:00' },
    ])
  })

  it('returns a refused message to the draft, and sends it with the next call only if it is submitted again', async () => {
    await page.goto(`${visit.stage.consoleUrl}#/playground`)
    await page.reload()
    visit.upstream.scriptOnce([
      { head: 400, headers: { 'content-type': 'application/json' } },
      { write: JSON.stringify({ error: { message: 'Not this' } }) },
      'end',
    ])
    await say(page, 'Refused')
    await page.getByRole('alert').getByText('Not this').waitFor()
    await expect.poll(() => page.getByLabel('Message').inputValue()).toBe('Refused')
    visit.upstream.scriptOnce(streamOf(['Fine.']))
    const asked = visit.upstream.nextRequest()
    await say(page, 'Taken')
    expect((await asked).body).toMatchObject({ messages: [{ role: 'user', content: 'Taken' }] })
    await page.locator('.turn [data-cost]').waitFor()
    expect(await page.getByLabel('Message').inputValue()).toBe('')
  })

  it('shows an error, its source, and what to do', async () => {
    await page.reload()
    visit.upstream.scriptOnce(answerEvents([textChunk('Half a')], { done: false }))
    await say(page, 'Hello')
    await last('[role="alert"]').waitFor()
    expect(await last('.said').textContent()).toBe('Half a')
    expect(await last('[data-cost]').getAttribute('data-cost')).toBe('0')
    await visit.stage.admin.accounts.correct({ account: 'alice', amount: '-4.9999' })
    await say(page, 'Hello again')
    await last('[role="alert"]').filter({ hasText: 'insufficient_credits' }).waitFor()
    const text = await last('[role="alert"]').textContent()
    expect(text).toContain('Add credits to the account')
    expect(text).toContain('Status 402')
    expect(visit.complaints).toEqual([])
  })
})
