import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type StrictApi, type StrictRow, StrictUpstream } from './index.js'

const USER = { role: 'user', content: 'Hi' }
const CALL = { name: 'look', arguments: '{"place":"Rome"}' }
const SAID = {
  thoughts: 'I should look.',
  text: 'Looking.',
  calls: [CALL],
  usage: { input: 20, cached: 8, cacheWrites: 4, output: 9, thoughts: 3 },
}

interface Asked {
  readonly row: StrictRow
  readonly path: (isStream: boolean) => string
  readonly body: object
}

const APIS: Readonly<Record<StrictApi, Asked>> = {
  chat: { row: 'deepseek', path: () => '/chat/completions', body: { model: 'm', messages: [USER] } },
  responses: { row: 'openai', path: () => '/responses', body: { model: 'm', input: 'Hi' } },
  messages: {
    row: 'anthropic',
    path: () => '/messages',
    body: { model: 'm', max_tokens: 9, messages: [USER] },
  },
  gemini: {
    row: 'gemini',
    path: (isStream) => `/models/m:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  },
}

let upstream: StrictUpstream
beforeEach(async () => {
  upstream = await StrictUpstream.start()
})
afterEach(() => upstream.close())

async function ask(
  api: StrictApi,
  { isStream = false, more = {} }: { isStream?: boolean; more?: object } = {},
) {
  const { row, path, body } = APIS[api]
  const stream = isStream && api !== 'gemini' ? { stream: true } : {}
  return await fetch(upstream.baseUrl(row) + path(isStream), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ ...body, ...stream, ...more }),
  })
}

describe.each(Object.keys(APIS) as StrictApi[])('the stand-in for %s', (api) => {
  const { row } = APIS[api]

  test('says in a body what it was told to say', async () => {
    upstream.script(row, SAID)
    const response = await ask(api)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toMatchSnapshot()
  })

  test('says in a stream what it was told to say', async () => {
    upstream.script(row, SAID)
    const response = await ask(api, { isStream: true })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(await response.text()).toMatchSnapshot()
  })

  test('says its replies in turn, and the last one again', async () => {
    upstream.script(row, { text: 'one' }, { text: 'two' })
    const texts: string[] = []
    for (let n = 0; n < 3; n++) texts.push(await (await ask(api)).text())
    expect(texts.map((text) => /one|two/.exec(text)?.[0])).toEqual(['one', 'two', 'two'])
  })

  test('sends a body and a status as they are given', async () => {
    upstream.script(row, { raw: { status: 503, body: { error: 'busy' } } })
    const response = await ask(api, { isStream: true })
    expect([response.status, await response.json()]).toEqual([503, { error: 'busy' }])
  })

  test('sends events as they are given', async () => {
    upstream.script(row, { raw: { events: [{ type: 'one' }, '[DONE]'] } })
    const named = api === 'responses' || api === 'messages' ? 'event: one\n' : ''
    const text = await (await ask(api, { isStream: true })).text()
    expect(text).toBe(`${named}data: {"type":"one"}\n\ndata: [DONE]\n\n`)
  })

  test('answers a request that it refuses by itself, and records why', async () => {
    upstream.script(row, SAID)
    const response = await ask(api, { more: { temperature: 'warm' } })
    const [asked] = upstream.requests
    expect([response.status, await response.json()]).toEqual([400, asked?.refusal?.body])
    expect(asked).toMatchObject({ row, body: { temperature: 'warm' } })
  })
})

test('a row knows no API of another vendor', async () => {
  const response = await fetch(`${upstream.baseUrl('anthropic')}/chat/completions`, {
    method: 'POST',
    body: '{}',
  })
  expect(response.status).toBe(404)
  expect(upstream.requests[0]?.refusal?.rule).toBe('path')
})
