import { afterEach, describe, expect, it } from 'vitest'
import { parseCredits } from '../../src/index.js'
import type { MemoryModel } from '../../src/stores.js'
import type { Script } from '../helpers/scripted-upstream.js'
import { API_KEY, MODEL, PRICES, providerReply, WireService } from './service.js'

const SCRIPT = 'x = 1; y = "ꙮ"\n'.repeat(2_000)
const LISTED: MemoryModel = {
  id: MODEL,
  prices: PRICES,
  contextLength: 1_000_000,
  mediaTokens: { image: 500, audio: 500, video: 500, pdf: 500, archive: 500 },
  maxOutputTokens: 100,
}
const BUDGET = {
  id: 'budget',
  unit: 'credits',
  amount: parseCredits('20'),
  per: 'month',
  zone: 'UTC',
} as const

let service: WireService
afterEach(() => service.close())

/** Bills a token for each byte of every file, whatever it is called. */
const readsFiles: Script = async (reply, request) => {
  let prompt = 0
  for (const [, data] of JSON.stringify(request.body).matchAll(/"(?:file_data|url)":"([^"]+)"/g)) {
    prompt += Buffer.from(data!.slice(data!.indexOf(',') + 1), 'base64').length
  }
  expect(prompt).toBeGreaterThan(30_000)
  reply.head(200, { 'content-type': 'application/json' })
  const usage = { prompt_tokens: prompt, completion_tokens: 1, total_tokens: prompt + 1 }
  await reply.write(JSON.stringify({ ...providerReply(), usage }))
  reply.end()
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
const CASES: readonly [what: string, type: string, text: string][] = [
  ['a script', 'application/x-python', SCRIPT],
  ['bytes of no type', 'application/octet-stream', SCRIPT],
  ['a script after the start of a PDF', 'text/x-python', `%PDF-1.7\n${SCRIPT}`],
  ['a script after the start of an image', 'text/plain', `GIF89a=1\n${SCRIPT}`],
  ['a script that is declared as a PDF', 'application/pdf', SCRIPT],
  ['a script that is declared as an image', 'image/png', SCRIPT],
]

const APIS: readonly [name: string, path: string, body: (type: string, data: string) => object][] = [
  [
    'a chat',
    '/chat/completions',
    (type, data) => ({
      messages: [
        { role: 'user', content: [{ type: 'file', file: { file_data: `data:${type};base64,${data}` } }] },
      ],
    }),
  ],
  [
    'the result of a tool in a chat',
    '/chat/completions',
    (type, data) => ({
      messages: [
        { role: 'user', content: 'Go' },
        {
          role: 'tool',
          tool_call_id: 'c',
          content: [{ type: 'image_url', image_url: { url: `data:${type};base64,${data}` } }],
        },
      ],
    }),
  ],
  [
    'a response',
    '/responses',
    (type, data) => ({
      input: [{ role: 'user', content: [{ type: 'input_file', file_data: `data:${type};base64,${data}` }] }],
    }),
  ],
  [
    'the result of a tool in a response',
    '/responses',
    (type, data) => ({
      input: [
        { role: 'user', content: 'Go' },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'c',
          output: [{ type: 'input_image', image_url: `data:${type};base64,${data}` }],
        },
      ],
    }),
  ],
  [
    'a message',
    '/messages',
    (type, data) => ({
      max_tokens: 5,
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'base64', media_type: type, data } }],
        },
      ],
    }),
  ],
  [
    'the result of a tool in a message',
    '/messages',
    (type, data) => ({
      max_tokens: 5,
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c',
              content: [{ type: 'document', source: { type: 'base64', media_type: type, data } }],
            },
          ],
        },
      ],
    }),
  ],
]

describe.each(APIS)('a key with a budget pays for each byte of a file in %s:', (_, path, body) => {
  it.each(CASES)('%s', async (_what, type, text) => {
    service = await WireService.start({ models: [LISTED] })
    service.credentials.put(API_KEY, { kind: 'api-key', account: 'alice', limits: [BUDGET] })
    service.upstream.script(readsFiles)
    const reply = await service.host.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, ...body(type, base64(text)) }),
    })
    expect(reply.status, await reply.text()).toBe(200)
    const { charge } = await service.event('request-end')
    expect(charge).toMatchObject({ basis: 'reported' })
    expect(charge?.shortfall).toBeUndefined()
  })
})
