import { type Json, type OddReply, type Said, USAGE, type Wire } from './shape.js'
import { sign } from './strict/index.js'

/** The bytes with which a provider of this API says something. */
export function writeReply(wire: Wire, said: Said, stream: boolean, odd?: OddReply): string {
  if (stream) {
    const events = odd?.stream ?? STREAMS[wire](said)
    const numbered = (event: Json, sequence_number: number): Json =>
      wire === 'responses' ? { sequence_number, ...event } : event
    const frames = events.map(numbered).map((event) => {
      const name = wire === 'chat' || wire === 'gemini' ? '' : `event: ${event.type}\n`
      return `${name}data: ${JSON.stringify(event)}\n\n`
    })
    return frames.join('') + (wire === 'chat' ? 'data: [DONE]\n\n' : '')
  }
  return JSON.stringify(odd?.body ?? BODIES[wire](said))
}

const halves = (text: string) => [text.slice(0, text.length >> 1), text.slice(text.length >> 1)]

// OpenAI's chat completions

export const CHAT_USAGE = {
  prompt_tokens: USAGE.input,
  completion_tokens: USAGE.output,
  total_tokens: USAGE.input + USAGE.output,
}
const HEAD = { id: 'chatcmpl-1', created: 1_764_000_000, model: 'm' }

/** An event of a streamed chat. */
export const chatDelta = (delta: Json, finish: string | null = null, more: Json = {}): Json => ({
  ...HEAD,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish, ...more }],
})
/** The event of a streamed chat that has its usage. */
export const chatUsage: Json = { ...HEAD, object: 'chat.completion.chunk', choices: [], usage: CHAT_USAGE }
/** A chat in one body. */
export const chatBody = (message: Json, finish = 'stop', more: Json = {}): Json => ({
  ...HEAD,
  object: 'chat.completion',
  choices: [
    { index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: finish, ...more },
  ],
  usage: CHAT_USAGE,
})

function chatFinish({ calls, ends }: Said): string {
  if (ends === 'length') return 'length'
  if (ends === 'filter') return 'content_filter'
  return calls === undefined ? 'stop' : 'tool_calls'
}

function chatStream(said: Said): Json[] {
  const { annotations, calls = [], refusal, text, thought } = said
  return [
    chatDelta({ role: 'assistant', content: '' }),
    ...(thought === undefined ? [] : halves(thought).map((half) => chatDelta({ reasoning_content: half }))),
    ...(text === undefined ? [] : halves(text).map((half) => chatDelta({ content: half }))),
    ...(refusal === undefined ? [] : [chatDelta({ refusal })]),
    ...(annotations === undefined ? [] : [chatDelta({ annotations })]),
    ...calls.flatMap(({ id, input, name }, index) => {
      const [half, rest] = halves(input)
      const begun = { index, id, type: 'function', function: { name, arguments: half } }
      return [
        chatDelta({ tool_calls: [begun] }),
        chatDelta({ tool_calls: [{ index, function: { arguments: rest } }] }),
      ]
    }),
    chatDelta({}, chatFinish(said)),
    chatUsage,
  ]
}

function chatWhole(said: Said): Json {
  const { annotations, calls, refusal, text, thought } = said
  return chatBody(
    {
      content: text ?? null,
      ...(thought !== undefined && { reasoning_content: thought }),
      ...(refusal !== undefined && { refusal }),
      ...(annotations !== undefined && { annotations }),
      ...(calls !== undefined && {
        tool_calls: calls.map(({ id, input, name }) => ({
          id,
          type: 'function',
          function: { name, arguments: input },
        })),
      }),
    },
    chatFinish(said),
  )
}

// Anthropic's messages

function blocksOf({ calls = [], refusal, sealed, text = refusal, thought }: Said): Json[] {
  return [
    ...(thought === undefined
      ? []
      : [{ type: 'thinking', thinking: thought, signature: sealed ? sign('anthropic', thought) : '' }]),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, input, name }) => ({ type: 'tool_use', id, name, input: JSON.parse(input) })),
  ]
}

function messageEnd({ calls, ends, refusal }: Said): { stop_reason: string; stop_sequence: string | null } {
  if (typeof ends === 'object') return { stop_reason: 'stop_sequence', stop_sequence: ends.at }
  const reason =
    ends === 'length'
      ? 'max_tokens'
      : ends === 'filter' || refusal !== undefined
        ? 'refusal'
        : calls === undefined
          ? 'end_turn'
          : 'tool_use'
  return { stop_reason: reason, stop_sequence: null }
}

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' }

/** The first event of a streamed message. */
export const messageStart: Json = {
  type: 'message_start',
  message: {
    ...MESSAGE,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: USAGE.input, output_tokens: 1 },
  },
}
/** The last two. */
export const messageStop = (end: Json): Json[] => [
  { type: 'message_delta', delta: end, usage: { output_tokens: USAGE.output } },
  { type: 'message_stop' },
]
/** One block of a streamed message. */
export function block(index: number, empty: Json, ...deltas: readonly Json[]): Json[] {
  return [
    { type: 'content_block_start', index, content_block: empty },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

function messageStream(said: Said): Json[] {
  const { calls = [], refusal, sealed, text = refusal, thought } = said
  let index = 0
  const blocks: Json[] = []
  if (thought !== undefined)
    blocks.push(
      ...block(
        index++,
        { type: 'thinking', thinking: '', signature: '' },
        ...halves(thought).map((half) => ({ type: 'thinking_delta', thinking: half })),
        ...(sealed ? [{ type: 'signature_delta', signature: sign('anthropic', thought) }] : []),
      ),
    )
  if (text !== undefined)
    blocks.push(
      ...block(
        index++,
        { type: 'text', text: '' },
        ...halves(text).map((half) => ({ type: 'text_delta', text: half })),
      ),
    )
  for (const { id, input, name } of calls)
    blocks.push(
      ...block(
        index++,
        { type: 'tool_use', id, name, input: {} },
        ...halves(input).map((half) => ({ type: 'input_json_delta', partial_json: half })),
      ),
    )
  return [messageStart, ...blocks, ...messageStop(messageEnd(said))]
}

function messageWhole(said: Said): Json {
  const usage = { input_tokens: USAGE.input, output_tokens: USAGE.output }
  return { ...MESSAGE, content: blocksOf(said), ...messageEnd(said), usage }
}

// OpenAI's responses

function itemsOf(said: Said): Json[] {
  const { annotations = [], calls = [], refusal, sealed, text, thought } = said
  const content = [
    ...(text === undefined ? [] : [{ type: 'output_text', text, annotations }]),
    ...(refusal === undefined ? [] : [{ type: 'refusal', refusal }]),
  ]
  return [
    ...(thought === undefined
      ? []
      : [
          {
            id: 'rs_1',
            type: 'reasoning',
            summary: [{ type: 'summary_text', text: thought }],
            ...(sealed && { encrypted_content: sign('openai', thought) }),
          },
        ]),
    ...(content.length === 0
      ? []
      : [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }]),
    ...calls.map(({ id, input, name }, index) => ({
      id: `fc_${index}`,
      type: 'function_call',
      status: 'completed',
      call_id: id,
      name,
      arguments: input,
    })),
  ]
}

/** A response with these items. */
export function response(output: readonly Json[], ends?: Said['ends'], status = statusOf(ends)): Json {
  const isDone = status !== 'in_progress'
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_764_000_000,
    status,
    model: 'm',
    output,
    ...(status === 'incomplete' && {
      incomplete_details: { reason: ends === 'length' ? 'max_output_tokens' : 'content_filter' },
    }),
    usage: isDone
      ? {
          input_tokens: USAGE.input,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: USAGE.output,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: USAGE.input + USAGE.output,
        }
      : null,
  }
}

const statusOf = (ends: Said['ends']) => (typeof ends === 'string' ? 'incomplete' : 'completed')

/** The events around those of a response's items, numbered. */
export function responseEvents(
  events: readonly Json[],
  output: readonly Json[],
  ends?: Said['ends'],
): Json[] {
  return [
    { type: 'response.created', response: response([], ends, 'in_progress') },
    { type: 'response.in_progress', response: response([], ends, 'in_progress') },
    ...events,
    { type: `response.${statusOf(ends)}`, response: response(output, ends) },
  ].map((event, index) => ({ ...event, sequence_number: index }))
}

function responseStream(said: Said): Json[] {
  const items = itemsOf(said)
  const events = items.flatMap((item, index) => {
    const event = (type: string, fields: Json) => ({
      type: `response.${type}`,
      item_id: item.id,
      output_index: index,
      ...fields,
    })
    const around = (empty: Json, inner: readonly Json[]) => [
      { type: 'response.output_item.added', output_index: index, item: { ...item, ...empty } },
      ...inner,
      { type: 'response.output_item.done', output_index: index, item },
    ]
    if (item.type === 'reasoning') {
      const text = said.thought!
      const at = { summary_index: 0 }
      return around({ summary: [] }, [
        event('reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } }),
        ...halves(text).map((delta) => event('reasoning_summary_text.delta', { ...at, delta })),
        event('reasoning_summary_text.done', { ...at, text }),
        event('reasoning_summary_part.done', { ...at, part: { type: 'summary_text', text } }),
      ])
    }
    if (item.type === 'message') {
      return around(
        { content: [], status: 'in_progress' },
        (item.content as Json[]).flatMap((part, content_index) => {
          const kind = part.type === 'refusal' ? 'refusal' : 'text'
          const name = kind === 'text' ? 'output_text' : 'refusal'
          const text = part[kind] as string
          const at = { content_index }
          const annotations = kind === 'text' ? (part.annotations as Json[]) : []
          return [
            event('content_part.added', {
              ...at,
              part: { ...part, [kind]: '', ...(kind === 'text' && { annotations: [] }) },
            }),
            ...halves(text).map((delta) =>
              event(`${name}.delta`, { ...at, delta, ...(kind === 'text' && { logprobs: [] }) }),
            ),
            ...annotations.map((annotation, annotation_index) =>
              event('output_text.annotation.added', { ...at, annotation_index, annotation }),
            ),
            event(`${name}.done`, { ...at, [kind]: text, ...(kind === 'text' && { logprobs: [] }) }),
            event('content_part.done', { ...at, part }),
          ]
        }),
      )
    }
    const args = item.arguments as string
    return around({ arguments: '', status: 'in_progress' }, [
      ...halves(args).map((delta) => event('function_call_arguments.delta', { delta })),
      event('function_call_arguments.done', { arguments: args }),
    ])
  })
  return responseEvents(events, items, said.ends)
}

// Google's `generateContent`

/** A reply or a piece of one. Google signs the first of several calls, and has no words for a refusal. */
function geminiReply(parts: readonly Json[], { ends }: Said, isLast = true): Json {
  const finishReason = ends === 'length' ? 'MAX_TOKENS' : ends === 'filter' ? 'SAFETY' : 'STOP'
  return {
    candidates: [{ content: { role: 'model', parts }, ...(isLast && { finishReason }), index: 0 }],
    usageMetadata: {
      promptTokenCount: USAGE.input,
      candidatesTokenCount: USAGE.output,
      totalTokenCount: USAGE.input + USAGE.output,
    },
    responseId: 'gemini-1',
  }
}

const geminiTexts = ({ refusal, text = refusal, thought }: Said): Json[] => [
  ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
  ...(text === undefined ? [] : [{ text }]),
]

const geminiCalls = ({ calls = [] }: Said): Json[] =>
  calls.map(({ id, input, name }, at) => ({
    functionCall: { id, name, args: JSON.parse(input === '' ? '{}' : input) },
    ...(at === 0 && { thoughtSignature: sign('google', name) }),
  }))

function geminiStream(said: Said): Json[] {
  const texts = geminiTexts(said).flatMap((part) =>
    halves(String(part.text)).map((text) => ({ ...part, text })),
  )
  const parts = [...texts, ...geminiCalls(said)]
  return parts.map((part, at) => geminiReply([part], said, at === parts.length - 1))
}

const STREAMS = {
  chat: chatStream,
  messages: messageStream,
  responses: responseStream,
  gemini: geminiStream,
}
const BODIES = {
  gemini: (said: Said) => geminiReply([...geminiTexts(said), ...geminiCalls(said)], said),
  chat: chatWhole,
  messages: messageWhole,
  responses: (said: Said) => response(itemsOf(said), said.ends),
}
