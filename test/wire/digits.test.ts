import { afterEach, describe, expect, it } from 'vitest'
import { anthropic, openaiCompatible } from '../../src/index.js'
import { answerEvents, answerJson, finishChunk, type Script } from '../helpers/scripted-upstream.js'
import {
  blockStart,
  blockStop,
  frames,
  messageDelta,
  messageStart,
  messageStop,
} from '../providers/anthropic/replies.js'
import {
  API_KEY,
  ask,
  BASE_COST,
  COUNTS,
  framesOf,
  MODEL,
  providerReply,
  usageChunk,
  WireService,
} from './service.js'

/** Numbers that no JavaScript number carries. */
const EXACT = '{"id": 9007199254740993, "ratio": 1.0, "far": {"most": 1e400}}'
const SCHEMA = '{"type":"object","properties":{"id":{"maximum":9223372036854775807}}}'

let service: WireService | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

const stand = '"@exact"'
const exact = (value: object) => JSON.stringify(value).replaceAll(stand, EXACT)
const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '@exact' } }
const use = { type: 'tool_use', id: 'c', name: 'f', input: '@exact' }
const counts = { input_tokens: 7, cache_read_input_tokens: 4, output_tokens: 7 }

const openAi: Readonly<Record<string, Script>> = {
  JSON: answerJson(
    exact(
      providerReply({
        choices: [{ index: 0, message: { content: null, tool_calls: [call] }, finish_reason: 'tool_calls' }],
      }),
    ),
  ),
  stream: answerEvents([
    exact({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] } }] }),
    finishChunk('tool_calls'),
    usageChunk(COUNTS),
  ]),
}
const messages: Readonly<Record<string, Script>> = {
  JSON: answerJson(exact({ type: 'message', content: [use], stop_reason: 'tool_use', usage: counts })),
  stream: [
    { head: 200, headers: { 'content-type': 'text/event-stream' } },
    {
      write: frames([
        messageStart(counts),
        blockStart(0, use),
        blockStop(0),
        messageDelta('tool_use', counts),
        messageStop,
      ]).replaceAll(stand, EXACT),
    },
    'end',
  ],
}
const adapters = {
  openaiCompatible: { adapter: (baseUrl: string) => openaiCompatible({ baseUrl }), replies: openAi },
  anthropic: { adapter: (baseUrl: string) => anthropic({ baseUrl }), replies: messages },
}

interface Choice {
  readonly delta?: {
    readonly tool_calls?: readonly { readonly function?: { readonly arguments?: string } }[]
  }
}

/** The arguments of the call in a reply of either mode. */
function argumentsIn(text: string, stream: boolean): string {
  if (!stream) return JSON.parse(text).choices[0].message.tool_calls[0].function.arguments
  return framesOf(text)
    .flatMap(({ choices }) => choices as readonly Choice[])
    .flatMap(({ delta }) => delta?.tool_calls ?? [])
    .map((one) => one.function?.arguments ?? '')
    .join('')
}

describe.each(Object.entries(adapters))('a call to %s', (_name, { adapter, replies }) => {
  it.each(['JSON', 'stream'])('keeps the digits of arguments that are an object (%s)', async (mode) => {
    service = await WireService.start({ adapter })
    service.upstream.script(replies[mode]!)
    const stream = mode === 'stream'
    const before = await service.posted('alice')
    const reply = await service.post(ask({ stream }))
    expect(argumentsIn(await reply.text(), stream)).toBe(EXACT)
    await service.event('request-end')
    expect(before - (await service.posted('alice'))).toBe(BigInt(BASE_COST.slice(2).padEnd(9, '0')))
  })

  it('forwards the digits of arguments and schemas', async () => {
    service = await WireService.start({ adapter })
    service.upstream.script(replies.JSON!)
    const body = JSON.stringify(
      ask({
        messages: [
          { role: 'user', content: 'Hi' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ ...call, function: { name: 'f', arguments: EXACT } }],
          },
          { role: 'tool', tool_call_id: 'c', content: 'x' },
        ],
        tools: [{ type: 'function', function: { name: 'f', parameters: '@schema' } }],
      }),
    ).replace('"@schema"', SCHEMA)
    expect((await service.post(body)).status).toBe(200)
    const { text } = service.asked[0]!
    expect(text).toContain(SCHEMA)
    expect(text).toContain(_name === 'anthropic' ? EXACT : JSON.stringify(EXACT))
  })
})

describe('an Idempotency-Key and digits', () => {
  const schema = (most: string) => `{"type":"object","properties":{"id":{"maximum":${most}}}}`
  const parameters = '@schema'
  const messages = [{ role: 'user', content: 'Hi' }]
  const requests: readonly (readonly [string, string, object])[] = [
    [
      'a tool of a chat',
      '/chat/completions',
      { messages, tools: [{ type: 'function', function: { name: 'f', parameters } }] },
    ],
    [
      'a format of a chat',
      '/chat/completions',
      { messages, response_format: { type: 'json_schema', json_schema: { name: 's', schema: parameters } } },
    ],
    [
      'a tool of Responses',
      '/responses',
      { input: 'Hi', tools: [{ type: 'function', name: 'f', parameters }] },
    ],
    [
      'a format of Responses',
      '/responses',
      { input: 'Hi', text: { format: { type: 'json_schema', name: 's', schema: parameters } } },
    ],
    [
      'a tool of Messages',
      '/messages',
      { messages, max_tokens: 50, tools: [{ name: 'f', input_schema: parameters }] },
    ],
    [
      'the input of a call in Messages',
      '/messages',
      {
        messages: [
          ...messages,
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: parameters }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x' }] },
        ],
        max_tokens: 50,
      },
    ],
  ]

  it.each(requests)(
    'is refused for other digits beyond 2^53 in %s, and repeats for the same digits',
    async (_, path, body) => {
      service = await WireService.start()
      service.upstream.script(answerJson(providerReply()))
      const send = (most: string) =>
        service!.host.request(path, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${API_KEY}`,
            'content-type': 'application/json',
            'idempotency-key': 'k',
          },
          body: JSON.stringify({ model: MODEL, ...body }).replace('"@schema"', schema(most)),
        })
      const first = await send('9007199254740993')
      const text = await first.text()
      expect(first.status, text).toBe(200)
      expect((await send('9007199254740992')).status).toBe(422)
      expect((await send('"9007199254740993"')).status).toBe(422)
      const again = await send('9007199254740993')
      expect([again.status, await again.text()]).toEqual([200, text])
      expect(service.asked).toHaveLength(1)
    },
  )
})
