import type { ProviderAdapter } from '../../../src/adapters.js'
import { anthropic, openaiCompatible } from '../../../src/index.js'
import { sealReasoning } from '../../../src/operations/responses/request/sealed-reasoning.js'
import { aiSdk } from '../../../src/providers/ai-sdk/index.js'
import { API_KEY, MODEL, WireService } from '../../wire/service.js'
import { SdkModel } from './sdk-model.js'

/** Something that a caller or a provider sends, of any size. */
export interface ReadingPath {
  readonly name: string
  readonly adapter: keyof typeof ADAPTERS | 'sdk'
  readonly path: '/chat/completions' | '/responses' | '/messages' | '/embeddings'
  /** The body for a size, which may name the items of an earlier reply. A short question by default. */
  readonly body?: (size: number, items: readonly KeptItem[]) => object
  /** The reply of a call before, whose items the request names. */
  readonly keeps?: (size: number) => object
  /** The events, or the body, with which the provider answers. A short reply by default. */
  readonly reply?: (size: number) => readonly object[] | object
  /** The parts with which a model of the AI SDK replies. A short text by default. */
  readonly parts?: (size: number) => readonly object[]
  /** Lines before the events that are no events. */
  readonly strayLines?: (size: number) => string
  /** The bytes of each write of the reply. All at once by default. */
  readonly pieceBytes?: number
  /** The size at which a limit refuses it. */
  readonly most: number
  /** Whether the host never overdraws, so that an upper bound of the prompt is counted. */
  readonly isBounded?: true
  readonly status?: number
}

interface KeptItem {
  readonly id: string
}

const ADAPTERS = {
  chat: (baseUrl: string): ProviderAdapter => openaiCompatible({ baseUrl }),
  responses: (baseUrl: string): ProviderAdapter => openaiCompatible({ baseUrl, api: 'responses' }),
  anthropic: (baseUrl: string): ProviderAdapter => anthropic({ baseUrl }),
}

const list = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index))

const user = { role: 'user', content: 'Hi' }
/** A text and a message so long that as many as a limit allows take measurable time. */
const LONG = 'word '.repeat(200)
const EXACT = '0.10000000000000000555'
const longUser = { role: 'user', content: LONG }
const QUESTIONS = {
  '/chat/completions': { messages: [user] },
  '/responses': { input: 'Hi' },
  '/messages': { messages: [user], max_tokens: 50 },
  '/embeddings': { input: 'Hi' },
}
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const COUNTS = { input_tokens: 11, output_tokens: 7 }

const choice = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
})
/** Events, or lists of them: a list of any length could not be spread over parameters. */
type Events = readonly (object | readonly object[])[]
const chatStream = (...deltas: Events) => [
  choice({ role: 'assistant', content: 'A' }),
  ...deltas.flat().map((delta) => choice(delta)),
  choice({}, 'stop'),
  { choices: [], usage: USAGE },
]
const chatBody = (message: object) => ({
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
  usage: USAGE,
})
const messageStream = (...events: Events) => [
  { type: 'message_start', message: { id: 'msg_1', type: 'message', usage: COUNTS } },
  ...events.flat(),
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: COUNTS },
  { type: 'message_stop' },
]
const textBlock = (...deltas: Events) => [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...deltas.flat().map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
  { type: 'content_block_stop', index: 0 },
]
const responseStream = (...events: Events) => [
  { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } },
  ...events.flat(),
  { type: 'response.completed', response: { status: 'completed', output: [], usage: COUNTS } },
]
const citation = { type: 'web_search_result_location', url: 'https://a.example', cited_text: 'x' }
const annotation = { type: 'url_citation', url: 'https://a.example', title: 'A' }
const call = (index: number) => ({
  id: 'c',
  type: 'function',
  function: { name: 'f', arguments: `{"a":${index}}` },
})

/** An embedding, and a schema of as many levels as a request may have. */
const FLOATS = list(256, (index) => Math.fround(Math.sin(index) / 10))
const DEEP = JSON.parse(`${'{"properties":{"a":'.repeat(50)}{"type":"string"}${'}}'.repeat(50)}`)

const REPLIES = {
  chat: chatBody({ content: 'A' }),
  responses: {
    object: 'response',
    status: 'completed',
    output: [{ id: 'm', type: 'message', content: [{ type: 'output_text', text: 'A' }] }],
    usage: COUNTS,
  },
  anthropic: {
    type: 'message',
    content: [{ type: 'text', text: 'A' }],
    stop_reason: 'end_turn',
    usage: COUNTS,
  },
}

/** A conversation of calls that all have one id, a thousand in a message. */
function chatOfCalls(size: number): object[] {
  return list(Math.ceil(size / 1_000), (turn) => {
    const calls = list(Math.min(1_000, size - turn * 1_000), call)
    return [
      { role: 'assistant', content: null, tool_calls: calls },
      ...calls.map(() => ({ role: 'tool', tool_call_id: 'c', content: 'x' })),
    ]
  }).flat()
}

const sealed = sealReasoning({
  provider: 'p0',
  details: [{ type: 'reasoning.encrypted', data: 'x'.repeat(8_000), format: 'openai-responses-v1' }],
})
const thought = Buffer.from(JSON.stringify([{ type: 'reasoning.text', signature: 'x' }])).toString(
  'base64url',
)

/** A name, the content of a result of this size, and the parts of a stream. */
type SdkParts = readonly [
  name: string,
  content: (size: number) => readonly object[],
  parts: (size: number) => readonly object[],
]
/** Those of one part, which is long. */
const LONG_PARTS = new Set(['texts', 'pieces of one tool call'])
const SDK_TEXT = [{ type: 'text', text: 'A' }]
const SDK_DELTA = [{ type: 'text-delta', id: '0', delta: 'A' }]
const sources = (size: number) =>
  list(size, (index) => ({ type: 'source', sourceType: 'url', id: `${index}`, url: 'https://a.example' }))
const sdkCalls = (size: number) =>
  list(size, (index) => ({ type: 'tool-call', toolCallId: `c${index}`, toolName: 'f', input: '{"a":1}' }))

type Shape = Omit<ReadingPath, 'name' | 'adapter'>

/** The same request, by every adapter. */
const byAll = (name: string, shape: Shape): ReadingPath[] =>
  (['chat', 'responses', 'anthropic', 'sdk'] as const).map((adapter) => ({
    name: `${name}, by ${adapter}`,
    adapter,
    ...shape,
  }))
/** The same reply, for a client that asks for a stream and for one that asks for a body. */
const inBoth = (path: ReadingPath): ReadingPath[] => [
  { ...path, name: `${path.name}, to a body` },
  {
    ...path,
    name: `${path.name}, to a stream`,
    body: (size, items) => ({ ...(path.body?.(size, items) ?? QUESTIONS[path.path]), stream: true }),
  },
]

/** Every path that reads what a caller or a provider sends. */
export const READING_PATHS: readonly ReadingPath[] = [
  // What callers send.
  ...byAll('text', {
    path: '/chat/completions',
    body: (size) => ({ messages: [{ role: 'user', content: 'word '.repeat(size) }] }),
    most: 6_000_000,
  }),
  {
    name: 'combining marks',
    adapter: 'chat',
    path: '/chat/completions',
    body: (size) => ({ messages: [{ role: 'user', content: '\u0301\u0323'.repeat(size) }] }),
    isBounded: true,
    most: 6_000_000,
  },
  ...byAll('messages', {
    path: '/chat/completions',
    body: (size) => ({ messages: list(size, () => longUser) }),
    most: 10_000,
  }),
  ...byAll('parts of messages', {
    path: '/chat/completions',
    body: (size) => ({
      messages: list(Math.ceil(size / 100), (turn) => ({
        role: 'user',
        content: list(Math.min(100, size - turn * 100), () => ({ type: 'text', text: 'word ' })),
      })),
    }),
    most: 60_000,
  }),
  ...byAll('calls with one id, and results', {
    path: '/chat/completions',
    body: (size) => ({ messages: [user, ...chatOfCalls(size)] }),
    most: 9_900,
  }),
  ...byAll('arguments of many values', {
    path: '/chat/completions',
    body: (size) => ({
      messages: [
        user,
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'c',
              type: 'function',
              // Digits that JavaScript would not write, so that their text is kept.
              function: { name: 'f', arguments: `{"a":[${`${EXACT},`.repeat(size)}0]}` },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'c', content: 'x' },
      ],
    }),
    most: 190_000,
  }),
  {
    name: 'a schema with long numbers',
    adapter: 'chat',
    path: '/chat/completions',
    body: (size) => ({
      messages: [user],
      tools: [
        {
          type: 'function',
          function: {
            name: 'f',
            parameters: { type: 'object', enum: list(size, () => 0.1 + 0.2) },
          },
        },
      ],
    }),
    most: 190_000,
  },
  {
    name: 'schemas of many levels',
    adapter: 'chat',
    path: '/chat/completions',
    body: (size) => ({
      messages: [user],
      tools: list(size, (index) => ({
        type: 'function',
        function: { name: `f${index}`, parameters: DEEP },
      })),
    }),
    most: 128,
  },
  {
    name: 'unknown fields',
    adapter: 'chat',
    path: '/chat/completions',
    body: (size) => ({
      messages: [user],
      ...Object.fromEntries(list(size, (index) => [`field_${index}`, 1])),
    }),
    most: 190_000,
    status: 400,
  },
  ...byAll('items', {
    path: '/responses',
    body: (size) => ({ input: list(size, () => longUser) }),
    most: 10_000,
  }),
  ...byAll('items of calls', {
    path: '/responses',
    body: (size) => ({
      input: list(Math.ceil(size / 2), (index) => [
        { type: 'function_call', call_id: `c${index}`, name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: `c${index}`, output: 'x' },
      ]).flat(),
    }),
    most: 10_000,
  }),
  ...byAll('items of reasoning', {
    path: '/responses',
    body: (size) => ({
      input: [
        user,
        ...list(size, () => ({ type: 'reasoning', summary: [], encrypted_content: sealed })),
        user,
      ],
    }),
    most: 1_000,
  }),
  ...byAll('signatures of calls behind them', {
    path: '/responses',
    body: (size) => ({
      input: [
        user,
        ...list(size / 2, (index) => ({
          type: 'reasoning',
          summary: [],
          encrypted_content: sealReasoning({
            provider: 'p0',
            details: [
              { type: 'reasoning.encrypted', id: `c${index}`, data: 'x', format: 'google-gemini-v1' },
            ],
          }),
        })),
        ...list(size / 2, () => ({ role: 'assistant', content: 'x' })),
        user,
      ],
    }),
    most: 8_000,
  }),
  {
    name: 'references to earlier items',
    adapter: 'responses',
    path: '/responses',
    keeps: (size) => ({
      ...REPLIES.responses,
      output: list(size, (index) => ({
        id: `m${index}`,
        type: 'message',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'word ' }],
      })),
    }),
    body: (_size, items) => ({
      input: [user, ...items.map(({ id }) => ({ type: 'item_reference', id })), user],
    }),
    most: 9_000,
  },
  {
    name: 'references to unknown items',
    adapter: 'chat',
    path: '/responses',
    body: (size) => ({ input: list(size, (index) => ({ type: 'item_reference', id: `msg_${index}` })) }),
    most: 10_000,
    status: 400,
  },
  ...byAll('blocks', {
    path: '/messages',
    body: (size) => ({
      max_tokens: 50,
      messages: [{ role: 'user', content: list(size, () => ({ type: 'text', text: LONG })) }],
    }),
    most: 10_000,
  }),
  ...byAll('blocks of calls', {
    path: '/messages',
    body: (size) => ({
      max_tokens: 50,
      messages: [
        user,
        {
          role: 'assistant',
          content: list(size, (index) => ({ type: 'tool_use', id: `c${index}`, name: 'f', input: { a: 1 } })),
        },
        {
          role: 'user',
          content: list(size, (index) => ({ type: 'tool_result', tool_use_id: `c${index}`, content: 'x' })),
        },
      ],
    }),
    most: 10_000,
  }),
  ...byAll('blocks of thinking', {
    path: '/messages',
    body: (size) => ({
      max_tokens: 50,
      messages: [
        user,
        {
          role: 'assistant',
          content: [
            ...list(size, () => ({
              type: 'thinking',
              thinking: LONG,
              signature: `cr1.AAAAAAAAAAA.d${thought}`,
            })),
            { type: 'text', text: 'A' },
          ],
        },
        user,
      ],
    }),
    most: 9_000,
  }),
  {
    name: 'texts to embed',
    adapter: 'chat',
    path: '/embeddings',
    body: (size) => ({ input: list(size, () => 'word '.repeat(2_000)) }),
    reply: (size) => ({ data: list(size, () => ({ embedding: [1] })), usage: { prompt_tokens: 1 } }),
    most: 2_048,
  },
  ...(['numbers', 'base64'] as const).map(
    (form): ReadingPath => ({
      name: `embeddings of many texts, as ${form}`,
      adapter: 'chat',
      path: '/embeddings',
      body: (size) => ({ input: list(size, () => 'a') }),
      reply: (size) => ({
        data: list(size, () => ({
          embedding:
            form === 'numbers' ? FLOATS : Buffer.from(Float32Array.from(FLOATS).buffer).toString('base64'),
        })),
        usage: { prompt_tokens: 1 },
      }),
      most: 2_048,
    }),
  ),
  {
    name: 'tokens to embed',
    adapter: 'chat',
    path: '/embeddings',
    body: (size) => ({ input: list(size, () => 1) }),
    reply: () => ({ data: [{ embedding: [1] }], usage: { prompt_tokens: 1 } }),
    most: 190_000,
  },

  // What providers send.
  ...[
    ['text', (size: number) => chatStream(list(size, () => ({ content: 'word ' })))],
    ['one long event', (size: number) => chatStream({ content: 'word '.repeat(size) })],
    [
      'pieces of one call',
      (size: number) =>
        chatStream(
          { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"a":"' } }] },
          list(size, () => ({ tool_calls: [{ index: 0, function: { arguments: 'word ' } }] })),
        ),
    ],
    [
      'members of one call',
      (size: number) =>
        chatStream(
          list(size, (index) => ({ tool_calls: [{ index: 0, id: 'c', function: { [`m${index}`]: 1 } }] })),
        ),
    ],
    [
      'pieces of a name',
      (size: number) =>
        chatStream(
          list(size, (index) => ({
            tool_calls: [{ index: 0, id: 'c', function: { name: `n${index}` } }],
          })),
        ),
    ],
    [
      'details of reasoning',
      (size: number) =>
        chatStream(
          list(size, (index) => ({
            reasoning: `${index} `,
            reasoning_details: [{ type: 'reasoning.text', text: `${index} `, index }],
          })),
        ),
    ],
    ['annotations', (size: number) => chatStream(list(size, () => ({ annotations: [annotation] })))],
    ['annotations in one event', (size: number) => chatStream({ annotations: list(size, () => annotation) })],
  ].flatMap(([name, reply]) =>
    (['/chat/completions', '/responses', '/messages'] as const).flatMap((path) =>
      inBoth({
        name: `${String(name)} of a chat, for ${path}`,
        adapter: 'chat',
        path,
        reply: reply as (size: number) => readonly object[],
        most: name === 'one long event' ? 3_000_000 : 200_000,
      }),
    ),
  ),
  {
    name: 'stray lines between events',
    adapter: 'chat',
    path: '/chat/completions',
    reply: () => chatStream({ content: 'word ' }),
    strayLines: (size) => ': still here\n\nretry: 5\n\n'.repeat(size),
    most: 1_000_000,
  },
  {
    name: 'levels in one event',
    adapter: 'chat',
    path: '/chat/completions',
    reply: (size) => [
      { deep: JSON.parse(`${'['.repeat(size)}${']'.repeat(size)}`) },
      ...chatStream({ content: 'word ' }),
    ],
    most: 4_000,
  },
  {
    name: 'one event in small pieces',
    adapter: 'chat',
    path: '/chat/completions',
    reply: (size) => chatStream({ content: 'word '.repeat(size) }),
    pieceBytes: 256,
    most: 3_000_000,
  },
  ...inBoth({
    name: 'choices that are parts of one',
    adapter: 'chat',
    path: '/chat/completions',
    reply: (size) => ({
      choices: list(size, (index) => ({
        index,
        message: { content: `${index} `, annotations: [{ ...annotation, title: `${index}` }] },
        finish_reason: 'stop',
      })),
      usage: USAGE,
    }),
    most: 200_000,
  }),
  ...inBoth({
    name: 'details that were sent twice',
    adapter: 'chat',
    path: '/chat/completions',
    reply: (size) =>
      chatBody({
        content: 'A',
        reasoning: list(size, (index) => `${index} `).join(''),
        reasoning_details: list(size, (index) => {
          const detail = { type: 'reasoning.text', text: `${index} ` }
          return [detail, detail]
        }).flat(),
      }),
    most: 200_000,
  }),
  ...inBoth({
    name: 'parts of a content',
    adapter: 'chat',
    path: '/chat/completions',
    reply: (size) =>
      chatBody({ content: list(size, () => ({ type: 'text', text: 'x', annotations: [annotation] })) }),
    most: 200_000,
  }),
  ...inBoth({
    name: 'objects of arguments, one after the other',
    adapter: 'chat',
    path: '/chat/completions',
    reply: (size) =>
      chatBody({
        content: null,
        tool_calls: [
          {
            id: 'c',
            type: 'function',
            function: { name: 'f', arguments: `{"a":1}${'{}'.repeat(size)}${' '.repeat(size)}` },
          },
        ],
      }),
    most: 1_000_000,
  }),
  ...(['/chat/completions', '/messages'] as const).flatMap((path) => [
    ...inBoth({
      name: `text of Claude, for ${path}`,
      adapter: 'anthropic',
      path,
      reply: (size) => messageStream(textBlock(list(size, () => ({ type: 'text_delta', text: 'word ' })))),
      most: 200_000,
    }),
    ...inBoth({
      name: `citations of Claude in a stream, for ${path}`,
      adapter: 'anthropic',
      path,
      reply: (size) =>
        messageStream(
          textBlock(
            list(size, () => ({ type: 'citations_delta', citation })),
            {
              type: 'text_delta',
              text: 'A',
            },
          ),
        ),
      most: 100_000,
    }),
    ...inBoth({
      name: `citations of Claude in one body, for ${path}`,
      adapter: 'anthropic',
      path,
      reply: (size) => ({
        type: 'message',
        content: [{ type: 'text', text: 'A', citations: list(size, () => citation) }],
        stop_reason: 'end_turn',
        usage: COUNTS,
      }),
      most: 200_000,
    }),
    ...inBoth({
      name: `blocks of Claude, for ${path}`,
      adapter: 'anthropic',
      path,
      reply: (size) => ({
        type: 'message',
        content: list(size, () => ({ type: 'text', text: 'word ' })),
        stop_reason: 'end_turn',
        usage: COUNTS,
      }),
      most: 200_000,
    }),
  ]),
  ...(
    [
      [
        'texts',
        (size) => [{ type: 'text', text: 'word '.repeat(size) }],
        (size) => list(size, () => ({ type: 'text-delta', id: '0', delta: 'word ' })),
      ],
      [
        'parts of text',
        (size) => list(size, () => ({ type: 'text', text: 'word ' })),
        (size) => list(size, (index) => ({ type: 'text-delta', id: `${index}`, delta: 'word ' })),
      ],
      [
        'parts of reasoning',
        (size) => [...list(size, () => ({ type: 'reasoning', text: 'word ' })), ...SDK_TEXT],
        (size) => [
          ...list(size, (index) => ({ type: 'reasoning-delta', id: `${index}`, delta: 'word ' })),
          ...SDK_DELTA,
        ],
      ],
      ['sources', (size) => [...SDK_TEXT, ...sources(size)], (size) => [...SDK_DELTA, ...sources(size)]],
      ['tool calls', sdkCalls, sdkCalls],
      [
        'pieces of one tool call',
        (size) => sdkCalls(1).map((part) => ({ ...part, input: `{"a":"${'word '.repeat(size)}"}` })),
        (size) => [
          { type: 'tool-input-start', id: 'c', toolName: 'f' },
          { type: 'tool-input-delta', id: 'c', delta: '{"a":"' },
          ...list(size, () => ({ type: 'tool-input-delta', id: 'c', delta: 'word ' })),
          { type: 'tool-input-delta', id: 'c', delta: '"}' },
        ],
      ],
    ] as const satisfies readonly SdkParts[]
  ).flatMap(([name, content, parts]) =>
    (['/chat/completions', '/responses', '/messages'] as const).flatMap((path) => {
      const most = LONG_PARTS.has(name) ? 3_000_000 : 400_000
      const both = { name: `${name} of the AI SDK, for ${path}`, adapter: 'sdk', path, most } as const
      const [toBody, toStream] = inBoth(both)
      return [
        { ...toBody!, parts: content },
        { ...toStream!, parts },
      ]
    }),
  ),
  {
    name: 'blocks of Claude that never end, and deltas of none',
    adapter: 'anthropic',
    path: '/chat/completions',
    reply: (size) =>
      messageStream(
        list(size, (index) => ({
          type: 'content_block_start',
          index,
          content_block: { type: 'text', text: 'x' },
        })),
        list(size, () => ({
          type: 'content_block_delta',
          index: -1,
          delta: { type: 'input_json_delta', partial_json: '1' },
        })),
      ),
    most: 100_000,
  },
  ...(['/chat/completions', '/responses'] as const).flatMap((path) => [
    ...inBoth({
      name: `text of the Responses API, for ${path}`,
      adapter: 'responses',
      path,
      reply: (size) =>
        responseStream(
          { type: 'response.output_item.added', output_index: 0, item: { id: 'm', type: 'message' } },
          list(size, () => ({ type: 'response.output_text.delta', output_index: 0, delta: 'word ' })),
        ),
      most: 200_000,
    }),
    ...inBoth({
      name: `annotations of the Responses API, for ${path}`,
      adapter: 'responses',
      path,
      reply: (size) => ({
        object: 'response',
        status: 'completed',
        output: [
          {
            id: 'm',
            type: 'message',
            content: [{ type: 'output_text', text: 'A', annotations: list(size, () => annotation) }],
          },
        ],
        usage: COUNTS,
      }),
      most: 200_000,
    }),
  ]),
]

/** A service that takes one call of a path after the other. */
export class PathRunner {
  private constructor(
    private readonly service: WireService,
    private readonly path: ReadingPath,
    private readonly model: SdkModel,
  ) {}

  static async start(path: ReadingPath): Promise<PathRunner> {
    const model = new SdkModel()
    const service = await WireService.start({
      adapter: path.adapter === 'sdk' ? () => aiSdk({ model: () => model }) : ADAPTERS[path.adapter],
      models: [{ id: MODEL, prices: { input: '0', output: '0' } }],
      ...(path.isBounded && { router: () => ({ neverOverdraw: true }) }),
      sizes: { replyBytes: 512 * 1024 * 1024, eventBytes: 64 * 1024 * 1024 },
    })
    return new PathRunner(service, path, model)
  }

  /** Makes one call of a size. Returns the milliseconds of CPU that it took, in this process. */
  async run(size: number): Promise<number> {
    const { path } = this
    const items = path.keeps === undefined ? [] : await this.keep(path.keeps(size), size)
    const body = JSON.stringify({ model: MODEL, ...(path.body?.(size, items) ?? QUESTIONS[path.path]) })
    if (path.adapter === 'sdk') this.model.parts = path.parts?.(size) ?? SDK_TEXT
    else this.answer(path.reply?.(size) ?? REPLIES[path.adapter], path.strayLines?.(size))
    const before = process.cpuUsage()
    const { status, text } = await this.post(body)
    const { system, user } = process.cpuUsage(before)
    if (status !== (path.status ?? 200)) throw this.failure(size, status, text)
    return (system + user) / 1_000
  }

  /** Has the provider give a reply whose items are kept, and returns them. */
  private async keep(reply: object, size: number): Promise<readonly KeptItem[]> {
    this.answer(reply)
    const { status, text } = await this.post(JSON.stringify({ model: MODEL, ...QUESTIONS['/responses'] }))
    if (status !== 200) throw this.failure(size, status, text)
    return JSON.parse(text).output
  }

  private answer(given: readonly object[] | object, stray = ''): void {
    const isStream = Array.isArray(given)
    const bytes = Buffer.from(isStream ? stray + eventStream(given) : JSON.stringify(given))
    this.service.upstream.script(async (reply) => {
      reply.head(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
      const { pieceBytes = bytes.length } = this.path
      for (let at = 0; at < bytes.length; at += pieceBytes)
        await reply.write(bytes.subarray(at, at + pieceBytes))
      reply.end()
    })
  }

  private async post(body: string): Promise<{ status: number; text: string }> {
    const response = await this.service.host.request(this.path.path, {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
      body,
    })
    return { status: response.status, text: await response.text() }
  }

  private failure(size: number, status: number, text: string): Error {
    return new Error(`${this.path.name}, size ${size}: status ${status}: ${text.slice(0, 300)}`)
  }

  close(): Promise<void> {
    return this.service.close()
  }
}

function eventStream(events: readonly object[]): string {
  return events
    .map((event) => {
      const type = 'type' in event ? `event: ${String(event.type)}\n` : ''
      return `${type}data: ${JSON.stringify(event)}\n\n`
    })
    .join('')
}
