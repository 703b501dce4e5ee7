import { afterEach, describe, expect, it } from 'vitest'
import { NO_RESULT } from '../../src/conversation/results.js'
import { openaiCompatible } from '../../src/index.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type Script,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { API_KEY, ask, BASE_COST, COUNTS, providerReply, usageChunk, WireService } from './service.js'

type Message = Readonly<Record<string, unknown>>

const COST = BigInt(BASE_COST.replace('0.', '').padEnd(9, '0'))
const USER: Message = { role: 'user', content: 'Go on.' }
const LONG: Message = { role: 'user', content: 'The quick "brown" fox.\n'.repeat(200) }

let service: WireService | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

const call = (text: string, more: object = {}) => ({
  id: 'call_1',
  type: 'function',
  function: { name: 'look', arguments: text },
  ...more,
})
const calls = (text: string, more: object = {}): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: [call(text, more)],
})
const result: Message = { role: 'tool', tool_call_id: 'call_1', content: 'x' }

function fine(stream: boolean): Script {
  return stream
    ? answerEvents([textChunk('Fine.'), finishChunk(), usageChunk(COUNTS)])
    : answerJson(providerReply())
}

interface Sent {
  /** Messages before the last one of the user. */
  readonly messages: readonly Message[]
  readonly stream: boolean
  readonly refusals?: readonly (readonly [status: number, error: object])[]
  readonly settings?: object
}

/** The messages of each request that the provider got, for a call that succeeds and costs what it should. */
async function send({ messages, refusals = [], settings = {}, stream }: Sent): Promise<Message[][]> {
  service = await WireService.start({
    adapter: (baseUrl) => openaiCompatible({ baseUrl, apiKey: API_KEY, ...settings }),
  })
  service.upstream.scriptOnce(...refusals.map(([status, error]) => answerJson({ error }, status)))
  service.upstream.script(fine(stream))
  const before = await service.posted('alice')
  const reply = await service.post(ask({ messages: [...messages, USER], stream }))
  expect([reply.status, await reply.text()]).toEqual([
    200,
    expect.stringContaining(stream ? '[DONE]' : 'usage'),
  ])
  await service.event('request-end')
  expect(before - (await service.posted('alice'))).toBe(COST)
  return service.asked.map(({ body }) => (body as { messages: Message[] }).messages)
}

const modes = [false, true].flatMap((stream) => [
  { stream, first: USER, mode: `stream: ${stream}, short` },
  { stream, first: LONG, mode: `stream: ${stream}, long` },
])

/** What a client sends back, and what a provider gets of it; null for a reply that is left out. */
const replies: readonly (readonly [name: string, given: Message, sent: Message | null])[] = [
  [
    'members that are null or empty, as the openai library returns them',
    { role: 'assistant', content: 'x', refusal: null, annotations: [], audio: null, function_call: null },
    { role: 'assistant', content: 'x' },
  ],
  [
    'null and empty members beside calls',
    { ...calls('{}'), refusal: null, annotations: [], audio: null, function_call: null, images: [] },
    calls('{}'),
  ],
  [
    'reasoning alone',
    { role: 'assistant', content: null, reasoning: 'Hm.', reasoning_content: 'Hm.' },
    { role: 'assistant', content: '', reasoning: 'Hm.' },
  ],
  [
    'an inline image alone',
    { role: 'assistant', content: null, images: [{ type: 'image_url', image_url: { url: 'data:,' } }] },
    { role: 'assistant', content: '', images: [{ type: 'image_url', image_url: { url: 'data:,' } }] },
  ],
  [
    'an image at a public address alone',
    { role: 'assistant', content: null, images: [{ image_url: { url: 'https://a.example/i.png' } }] },
    { role: 'assistant', content: '', images: [{ image_url: { url: 'https://a.example/i.png' } }] },
  ],
  [
    'an image that only its provider can open',
    { role: 'assistant', content: null, images: [{ image_url: { url: 'http://10.0.0.1/i.png' } }] },
    null,
  ],
  [
    'a refusal alone',
    { role: 'assistant', content: null, refusal: 'I will not.' },
    { role: 'assistant', content: 'I will not.' },
  ],
  [
    'a refusal beside an empty text, as a client puts a stream together',
    { role: 'assistant', content: '', refusal: 'I will not.' },
    { role: 'assistant', content: 'I will not.' },
  ],
  ['null content alone', { role: 'assistant', content: null, refusal: null }, null],
  ['no content at all', { role: 'assistant' }, null],
  ['an empty text', { role: 'assistant', content: '' }, null],
  ['an empty text with empty reasoning', { role: 'assistant', content: '', reasoning: '' }, null],
  ['an empty list of parts', { role: 'assistant', content: [] }, null],
  [
    'details of reasoning in shapes of other APIs',
    {
      role: 'assistant',
      content: 'x',
      reasoning_details: [
        { type: 'reasoning.summary', summary: [{ type: 'summary_text', text: 'a' }], index: null, id: 7 },
      ],
    },
    {
      role: 'assistant',
      content: 'x',
      reasoning_details: [{ type: 'reasoning.summary', summary: [{ type: 'summary_text', text: 'a' }] }],
    },
  ],
  ['a call without arguments', calls(''), calls('{}')],
  ['arguments that are null', calls('null'), calls('{}')],
  [
    'arguments of another spelling',
    calls('{"a": 1.0, "b":12345678901234567890}'),
    calls('{"a": 1.0, "b":12345678901234567890}'),
  ],
  ['arguments that were cut off', calls('{"value": '), calls('{"arguments":"{\\"value\\": "}')],
  ['arguments after an empty object', calls('{}{"in":"Rome"}'), calls('{"in":"Rome"}')],
  ['arguments twice', calls('{"in":{"a":1}}{"in":{"a":1}}'), calls('{"in":{"a":1}}')],
  ['arguments as JSON in JSON', calls('"{\\"in\\":1}"'), calls('{"in":1}')],
  ['arguments that are a list', calls('[1]'), calls('{"arguments":"[1]"}')],
  [
    'a signature in the place of LiteLLM',
    calls('{}', { provider_specific_fields: { thought_signature: 's', other: 1 } }),
    calls('{}', { provider_specific_fields: { thought_signature: 's' } }),
  ],
  ['the role developer', { role: 'developer', content: 'x' }, { role: 'system', content: 'x' }],
]

describe.each(modes)('a conversation sent to an OpenAI-format provider ($mode) has', ({ first, stream }) => {
  it.each(replies)('%s', async (_name, given, sent) => {
    const rest = 'tool_calls' in given ? [result] : []
    const [got] = await send({ messages: [first, given, ...rest], stream })
    expect(got).toEqual([first, ...(sent === null ? [] : [sent]), ...rest, USER])
  })
})

describe.each(modes)('an interrupted tool call ($mode)', ({ first, stream }) => {
  const two: Message = {
    role: 'assistant',
    content: null,
    tool_calls: [call('{}'), call('{}', { id: 'call_2' })],
  }
  const none = (id: string): Message => ({ role: 'tool', tool_call_id: id, content: NO_RESULT })

  it.each([
    ['without any result', [two], [two, none('call_1'), none('call_2')]],
    ['with one of two results', [two, result], [two, result, none('call_2')]],
    [
      'before another reply',
      [calls('{}'), { role: 'assistant', content: 'x' }],
      [calls('{}'), none('call_1'), { role: 'assistant', content: 'x' }],
    ],
  ] as const)('gets a result that says so if %s', async (_name, given, sent) => {
    const [got] = await send({ messages: [first, ...given], stream })
    expect(got).toEqual([first, ...sent, USER])
  })
})

it('a chat request with only empty replies is refused', async () => {
  service = await WireService.start()
  const reply = await service.post(ask({ messages: [{ role: 'assistant', content: null }] }))
  expect([reply.status, await reply.text()]).toEqual([400, expect.stringContaining('messages.0.content')])
})

it.each([
  ['developerRole', { developerRole: true }, { role: 'developer', content: 'x' }],
  ['reasoningHistory', { reasoningHistory: 'reasoning_content' }, { role: 'system', content: 'x' }],
])('the history field %s is a setting of the adapter', async (_name, settings, first) => {
  const said = { role: 'assistant', content: 'y', reasoning: 'Hm.', reasoning_details: [{ text: 'Hm.' }] }
  const given = [{ role: 'developer', content: 'x' }, said, { role: 'assistant', content: 'z' }]
  const [got] = await send({ messages: given, stream: false, settings })
  expect(got![0]).toEqual(first)
  expect(got!.slice(1, 3)).toEqual(
    'reasoningHistory' in settings
      ? [
          { role: 'assistant', content: 'y', reasoning_content: 'Hm.' },
          { role: 'assistant', content: 'z', reasoning_content: ' ' },
        ]
      : [said, { role: 'assistant', content: 'z' }],
  )
})

const image = { type: 'image_url', image_url: { url: 'data:,' } }
const thought = { type: 'thinking', thinking: 'Hm.' }

/** A refusal of an earlier reply, the reply, and what of it the provider gets the second time. */
const refused: readonly (readonly [words: string, given: Message, sent: Message, param?: string])[] = [
  [
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    { ...calls('{}'), reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] },
    { ...calls('{}'), reasoning_content: 'Hm.' },
  ],
  [
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
    calls('{}'),
    { ...calls('{}'), reasoning_content: ' ' },
  ],
  [
    'Param Incorrect',
    { role: 'assistant', content: [thought, { type: 'text', text: 'x' }], thinking_blocks: [thought] },
    { role: 'assistant', content: [{ type: 'text', text: 'x' }], reasoning_content: 'Hm.' },
    'The reasoning_content in the thinking mode must be passed back to the API.',
  ],
  [
    "Invalid value: 'thinking'. Supported values are: 'text' and 'refusal'.",
    { role: 'assistant', content: [thought, { type: 'text', text: 'x' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'x' }] },
  ],
  [
    "'messages.1' : property 'thinking_blocks' is unsupported",
    { role: 'assistant', content: 'x', thinking_blocks: [thought] },
    { role: 'assistant', content: 'x' },
  ],
  [
    'messages.1.assistant.images: Extra inputs are not permitted',
    { role: 'assistant', content: 'x', images: [image] },
    { role: 'assistant', content: 'x' },
  ],
  [
    "property 'messages.1.assistant.tool_calls.0.extra_content' is unsupported",
    calls('{}', { extra_content: { google: { thought_signature: 's' } } }),
    calls('{}'),
  ],
  [
    'Function call is missing a thought_signature in functionCall parts.',
    calls('{}'),
    calls('{}', { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } }),
  ],
  [
    'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.',
    calls('{}'),
    calls('{}', { id: '74196fe72' }),
  ],
  [
    "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40.",
    calls('{}'),
    calls('{}', { id: '74196fe72' }),
    'messages[1].tool_calls[0].id',
  ],
]

describe.each([false, true])(
  'a provider that refuses a conversation is asked again (stream: %s)',
  (stream) => {
    it.each(refused.map((row) => ({ message: row[0], row })))('after: $message', async ({ message, row }) => {
      const [, given, sent, param] = row
      const rest = 'tool_calls' in given ? [result] : []
      const refusals = [[400, { message, ...(param && { param }) }]] as const
      const asked = await send({ messages: [USER, given, ...rest], stream, refusals })
      expect(asked).toEqual([
        [USER, given, ...rest, USER],
        [USER, sent, ...rest.map((one) => ({ ...one, ...idOf(sent) })), USER],
      ])
    })

    it('without a reply of reasoning alone, if it refuses that', async () => {
      const given = { role: 'assistant', content: '', reasoning: 'Hm.' }
      const refusals = [[422, { message: 'messages.1.reasoning: Extra inputs are not permitted' }]] as const
      const asked = await send({ messages: [USER, given], stream, refusals })
      expect(asked).toEqual([
        [USER, given, USER],
        [USER, USER],
      ])
    })

    it('until all that it refuses is changed', async () => {
      const refusals = [
        [422, { message: 'messages.1.reasoning: Extra inputs are not permitted' }],
        [400, { message: 'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.' }],
      ] as const
      const given = { ...calls('{}'), reasoning: 'Hm.' }
      const asked = await send({ messages: [USER, given, result], stream, refusals })
      expect(asked).toHaveLength(3)
      const id = '74196fe72'
      expect(asked[2]!.slice(1, 3)).toEqual([calls('{}', { id }), { ...result, tool_call_id: id }])
    })
  },
)

/** Refusals of the role `developer`, as providers write them. */
const roleRefusals: readonly (readonly [status: number, error: { message: string; param?: string }])[] = [
  [
    400,
    {
      message: "'messages[1].role' does not support 'developer' with this model.",
      param: 'messages[1].role',
    },
  ],
  [400, { message: "Invalid value: 'developer'.", param: 'messages[1].role' }],
  [400, { message: 'messages[1].role: unknown variant `developer`, expected one of `system`, `user`' }],
  [400, { message: "developer is not one of ['system', 'assistant', 'user'] - 'messages.['1].role'" }],
  [400, { message: "message role is 'developer', not one of ['system', 'user']" }],
  [400, { message: 'chat template rejected the request: Unexpected message role.' }],
  [422, { message: "Input should be 'system', 'user', 'assistant' or 'tool'" }],
]

describe.each([false, true])('a provider that refuses the developer role (stream: %s)', (stream) => {
  const settings = { developerRole: true }
  const given = { role: 'developer', content: 'x' }

  it.each(roleRefusals)('with %j %j gets system', async (...refusal) => {
    const asked = await send({ messages: [USER, given], stream, settings, refusals: [refusal] })
    expect(asked).toEqual([
      [USER, given, USER],
      [USER, { role: 'system', content: 'x' }, USER],
    ])
  })

  it('gets developer again from the next call, since a caller may have planted the words', async () => {
    const refusals = [roleRefusals[0]!]
    await send({ messages: [USER, given], stream, settings, refusals })
    await (await service!.post(ask({ messages: [given, USER], stream }))).text()
    expect(service!.asked.at(-1)!.body).toMatchObject({ messages: [given, USER] })
  })

  it.each([
    ['if no message has the role', [USER], settings],
    ['if it got system already', [given], {}],
  ])('is not asked again %s', async (_when, messages, chosen) => {
    service = await WireService.start({
      adapter: (baseUrl) => openaiCompatible({ baseUrl, apiKey: API_KEY, ...chosen }),
    })
    const [status, error] = roleRefusals[0]!
    service.upstream.script(answerJson({ error }, status))
    const before = await service.posted('alice')
    const reply = await service.post(ask({ messages, stream }))
    expect([reply.status, service.asked.length]).toEqual([400, 1])
    expect(await service.posted('alice')).toBe(before)
  })
})

/** The id by which a result of the reply's first call is sent. */
function idOf({ tool_calls: given }: Message): object {
  const [first] = (given ?? []) as readonly { id: string }[]
  return first === undefined ? {} : { tool_call_id: first.id }
}
