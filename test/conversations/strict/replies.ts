import type { StrictApi, StrictRow } from './refusal.js'
import { idBehindThought, idOfThought, sign } from './signatures.js'

export interface StrictUsage {
  /** All tokens of the prompt, those of its cache among them. */
  readonly input: number
  /** Those of the prompt that came from a cache. */
  readonly cached?: number
  /** Those of the prompt that were written to a cache. */
  readonly cacheWrites?: number
  /** All tokens of the reply, those of thoughts among them. */
  readonly output: number
  readonly thoughts?: number
}

export interface StrictCall {
  readonly name: string
  /** JSON, or the free input of a custom tool. */
  readonly arguments: string
  /** Made up if left out. */
  readonly id?: string
  readonly isCustom?: boolean
}

/** What a model says: thoughts, then text, then calls. */
export interface StrictReply {
  readonly text?: string
  readonly thoughts?: string
  readonly calls?: readonly StrictCall[]
  readonly usage?: StrictUsage
  /** Why it ended, if not by itself or for its calls. */
  readonly finish?: 'length'
  /** Sent instead of all this: a body, or the events of a stream, with their names if they have a `type`. */
  readonly raw?: {
    readonly status?: number
    readonly body?: unknown
    readonly events?: readonly unknown[]
  }
}

export interface Asked {
  readonly row: StrictRow
  readonly model: string
  /** Which reply of the stand-in this is: its ids follow from it. */
  readonly n: number
}

interface SentEvent {
  readonly name?: string
  readonly data: unknown
}

const CREATED = 1_764_000_000
export const STRICT_USAGE: StrictUsage = { input: 11, output: 7 }

/** In two pieces, so that a reader that keeps only one of them is noticed. */
function pieces(text: string): readonly string[] {
  const half = Math.ceil(text.length / 2)
  return [text.slice(0, half), text.slice(half)].filter((piece) => piece !== '')
}

const padded = (n: number, length: number) => String(n).padStart(length, '0')

function callId(row: StrictRow, n: number, at: number): string {
  const number = n * 100 + at
  if (row === 'mistral') return padded(number, 9)
  if (row === 'anthropic') return `toolu_01${padded(number, 22)}`
  return `call_${padded(number, 24)}`
}

const idOf = (call: StrictCall, { row, n }: Asked, at: number) => call.id ?? callId(row, n, at)

const chatUsage = ({ input, output, cached = 0, thoughts = 0 }: StrictUsage) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: thoughts },
})

const finishOf = ({ finish, calls = [] }: StrictReply) => finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')

/** The member that has a chat API's thoughts. OpenAI's has none, and Mistral's are parts of the content. */
const THOUGHT_MEMBERS: Readonly<Partial<Record<StrictRow, string>>> = {
  deepseek: 'reasoning_content',
  groq: 'reasoning',
  'gemini-chat': 'reasoning_content',
}

const chatCalls = (reply: StrictReply, asked: Asked) =>
  (reply.calls ?? []).map((call, at) => {
    const id = idOf(call, asked, at)
    if (call.isCustom) return { id, type: 'custom', custom: { name: call.name, input: call.arguments } }
    const sealed = { extra_content: { google: { thought_signature: sign('google', call.name) } } }
    return {
      id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
      ...(asked.row === 'gemini-chat' && at === 0 ? sealed : {}),
    }
  })

/** Thoughts as Mistral sends them. */
const thoughtPart = (text: string) => [{ type: 'thinking', thinking: [{ type: 'text', text }] }]

function chatContent({ text, thoughts }: StrictReply, { row }: Asked): unknown {
  if (row !== 'mistral' || thoughts === undefined) return text ?? null
  return [...thoughtPart(thoughts), ...(text === undefined ? [] : [{ type: 'text', text }])]
}

function thoughtMember(reply: StrictReply, { row }: Asked): Record<string, string> {
  const name = THOUGHT_MEMBERS[row]
  return name === undefined || reply.thoughts === undefined ? {} : { [name]: reply.thoughts }
}

function chatBody(reply: StrictReply, asked: Asked): object {
  const calls = chatCalls(reply, asked)
  const message = {
    role: 'assistant',
    content: chatContent(reply, asked),
    ...thoughtMember(reply, asked),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(asked.row === 'openai' ? { refusal: null, annotations: [] } : {}),
  }
  return {
    id: `chatcmpl-${asked.n}`,
    object: 'chat.completion',
    created: CREATED,
    model: asked.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(reply) }],
    usage: chatUsage(reply.usage ?? STRICT_USAGE),
  }
}

function chatEvents(reply: StrictReply, asked: Asked, asksUsage: boolean): readonly SentEvent[] {
  const chunk = (choices: readonly object[], more: object = {}): SentEvent => ({
    data: {
      id: `chatcmpl-${asked.n}`,
      object: 'chat.completion.chunk',
      created: CREATED,
      model: asked.model,
      choices,
      ...more,
    },
  })
  const delta = (fields: object, finish: string | null = null) =>
    chunk([{ index: 0, delta: fields, logprobs: null, finish_reason: finish }])
  const name = THOUGHT_MEMBERS[asked.row]
  const thoughts = pieces(reply.thoughts ?? '').flatMap((piece) => {
    if (asked.row === 'mistral') return [delta({ content: thoughtPart(piece) })]
    return name === undefined ? [] : [delta({ [name]: piece })]
  })
  const calls = chatCalls(reply, asked).flatMap((call, index) => {
    if ('custom' in call && call.custom !== undefined) {
      const { id, type, custom } = call
      return [
        delta({ tool_calls: [{ index, id, type, custom: { name: custom.name, input: '' } }] }),
        ...pieces(custom.input).map((input) => delta({ tool_calls: [{ index, custom: { input } }] })),
      ]
    }
    const { function: called, ...rest } = call
    return [
      delta({ tool_calls: [{ index, ...rest, function: { name: called?.name, arguments: '' } }] }),
      ...pieces(called?.arguments ?? '').map((text) =>
        delta({ tool_calls: [{ index, function: { arguments: text } }] }),
      ),
    ]
  })
  const usage = chatUsage(reply.usage ?? STRICT_USAGE)
  return [
    delta({ role: 'assistant', content: '' }),
    ...thoughts,
    ...pieces(reply.text ?? '').map((content) => delta({ content })),
    ...calls,
    delta({}, finishOf(reply)),
    ...(asksUsage || asked.row !== 'openai' ? [chunk([], { usage })] : []),
    { data: '[DONE]' },
  ]
}

function responseItems(reply: StrictReply, asked: Asked): readonly Record<string, unknown>[] {
  const { thoughts, text, calls = [] } = reply
  const idOfItem = (prefix: string, at: number) =>
    thoughts === undefined ? `${prefix}_${padded(asked.n, 24)}${at}` : idBehindThought(prefix, asked.n, at)
  const thought = {
    id: idOfThought(asked.n),
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: thoughts }],
    encrypted_content: sign('openai', thoughts ?? ''),
  }
  const message = {
    id: idOfItem('msg', 0),
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  }
  return [
    ...(thoughts === undefined ? [] : [thought]),
    ...(text === undefined ? [] : [message]),
    ...calls.map((call, at) => {
      const own = { status: 'completed', call_id: idOf(call, asked, at), name: call.name }
      return call.isCustom
        ? { id: idOfItem('ctc', at), type: 'custom_tool_call', ...own, input: call.arguments }
        : { id: idOfItem('fc', at), type: 'function_call', ...own, arguments: call.arguments }
    }),
  ]
}

function responseBody(reply: StrictReply, asked: Asked, status?: string): object {
  const { input, output, cached = 0, thoughts = 0 } = reply.usage ?? STRICT_USAGE
  const isCut = reply.finish === 'length'
  const isDone = status === undefined
  return {
    id: `resp_${padded(asked.n, 24)}`,
    object: 'response',
    created_at: CREATED,
    status: status ?? (isCut ? 'incomplete' : 'completed'),
    error: null,
    incomplete_details: isDone && isCut ? { reason: 'max_output_tokens' } : null,
    instructions: null,
    model: asked.model,
    output: isDone ? responseItems(reply, asked) : [],
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    temperature: 1,
    top_p: 1,
    metadata: {},
    usage: isDone
      ? {
          input_tokens: input,
          input_tokens_details: { cached_tokens: cached },
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: thoughts },
          total_tokens: input + output,
        }
      : null,
  }
}

function responseEvents(reply: StrictReply, asked: Asked): readonly SentEvent[] {
  const events: Record<string, unknown>[] = []
  const emit = (type: string, fields: object) => {
    events.push({ type, sequence_number: events.length, ...fields })
  }
  emit('response.created', { response: responseBody(reply, asked, 'in_progress') })
  emit('response.in_progress', { response: responseBody(reply, asked, 'in_progress') })
  for (const [output_index, item] of responseItems(reply, asked).entries()) {
    const place = { item_id: item.id, output_index }
    const started = { ...item, ...(item.status === undefined ? {} : { status: 'in_progress' }) }
    if (item.type === 'reasoning') {
      const text = reply.thoughts ?? ''
      emit('response.output_item.added', { output_index, item: { ...started, summary: [] } })
      const part = { ...place, summary_index: 0 }
      emit('response.reasoning_summary_part.added', { ...part, part: { type: 'summary_text', text: '' } })
      for (const delta of pieces(text)) emit('response.reasoning_summary_text.delta', { ...part, delta })
      emit('response.reasoning_summary_text.done', { ...part, text })
      emit('response.reasoning_summary_part.done', { ...part, part: { type: 'summary_text', text } })
    } else if (item.type === 'message') {
      const text = reply.text ?? ''
      const empty = { type: 'output_text', text: '', annotations: [], logprobs: [] }
      emit('response.output_item.added', { output_index, item: { ...started, content: [] } })
      const part = { ...place, content_index: 0 }
      emit('response.content_part.added', { ...part, part: empty })
      for (const delta of pieces(text)) emit('response.output_text.delta', { ...part, delta, logprobs: [] })
      emit('response.output_text.done', { ...part, text, logprobs: [] })
      emit('response.content_part.done', { ...part, part: { ...empty, text } })
    } else {
      const isCustom = item.type === 'custom_tool_call'
      const [name, member] = isCustom
        ? ['response.custom_tool_call_input', 'input']
        : ['response.function_call_arguments', 'arguments']
      emit('response.output_item.added', { output_index, item: { ...started, [member as string]: '' } })
      const text = item[member as string] as string
      for (const delta of pieces(text)) emit(`${name}.delta`, { ...place, delta })
      emit(`${name}.done`, { ...place, [member as string]: text, ...(isCustom ? {} : { name: item.name }) })
    }
    emit('response.output_item.done', { output_index, item })
  }
  const last = reply.finish === 'length' ? 'response.incomplete' : 'response.completed'
  emit(last, { response: responseBody(reply, asked) })
  return events.map((data) => ({ name: data.type as string, data }))
}

function messageUsage({ input, output, cached = 0, cacheWrites = 0 }: StrictUsage) {
  return {
    input_tokens: input - cached - cacheWrites,
    cache_creation_input_tokens: cacheWrites,
    cache_read_input_tokens: cached,
    output_tokens: output,
    service_tier: 'standard',
  }
}

function messageBlocks(reply: StrictReply, asked: Asked): readonly Record<string, unknown>[] {
  const { thoughts, text, calls = [] } = reply
  return [
    ...(thoughts === undefined
      ? []
      : [{ type: 'thinking', thinking: thoughts, signature: sign('anthropic', thoughts) }]),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map((call, at) => ({
      type: 'tool_use',
      id: idOf(call, asked, at),
      name: call.name,
      input: JSON.parse(call.arguments) as unknown,
    })),
  ]
}

const stopOf = ({ finish, calls = [] }: StrictReply) =>
  finish === 'length' ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn'

function messageBody(reply: StrictReply, asked: Asked): Record<string, unknown> {
  return {
    id: `msg_01${padded(asked.n, 22)}`,
    type: 'message',
    role: 'assistant',
    model: asked.model,
    content: messageBlocks(reply, asked),
    stop_reason: stopOf(reply),
    stop_sequence: null,
    usage: messageUsage(reply.usage ?? STRICT_USAGE),
  }
}

function messageEvents(reply: StrictReply, asked: Asked): readonly SentEvent[] {
  const events: Record<string, unknown>[] = []
  const usage = messageUsage(reply.usage ?? STRICT_USAGE)
  const message = {
    ...messageBody(reply, asked),
    content: [],
    stop_reason: null,
    usage: { ...usage, output_tokens: 1 },
  }
  events.push({ type: 'message_start', message })
  for (const [index, block] of messageBlocks(reply, asked).entries()) {
    const delta = (fields: object) => events.push({ type: 'content_block_delta', index, delta: fields })
    const start = (fields: object) =>
      events.push({ type: 'content_block_start', index, content_block: { ...block, ...fields } })
    if (block.type === 'thinking') {
      start({ thinking: '', signature: '' })
      for (const thinking of pieces(block.thinking as string)) delta({ type: 'thinking_delta', thinking })
      delta({ type: 'signature_delta', signature: block.signature })
    } else if (block.type === 'text') {
      start({ text: '' })
      for (const text of pieces(block.text as string)) delta({ type: 'text_delta', text })
    } else {
      start({ input: {} })
      for (const partial_json of pieces(JSON.stringify(block.input)))
        delta({ type: 'input_json_delta', partial_json })
    }
    events.push({ type: 'content_block_stop', index })
  }
  events.splice(1, 0, { type: 'ping' })
  events.push({ type: 'message_delta', delta: { stop_reason: stopOf(reply), stop_sequence: null }, usage })
  events.push({ type: 'message_stop' })
  return events.map((data) => ({ name: data.type as string, data }))
}

function geminiParts(reply: StrictReply): readonly Record<string, unknown>[] {
  const { thoughts, text, calls = [] } = reply
  return [
    ...(thoughts === undefined ? [] : [{ text: thoughts, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map((call, at) => ({
      functionCall: { name: call.name, args: JSON.parse(call.arguments) as unknown },
      ...(at === 0 ? { thoughtSignature: sign('google', call.name) } : {}),
    })),
  ]
}

function geminiBody(reply: StrictReply, asked: Asked, parts = geminiParts(reply), isLast = true): object {
  const { input, output, cached = 0, thoughts = 0 } = reply.usage ?? STRICT_USAGE
  const finishReason = reply.finish === 'length' ? 'MAX_TOKENS' : 'STOP'
  return {
    candidates: [{ content: { role: 'model', parts }, ...(isLast ? { finishReason } : {}), index: 0 }],
    usageMetadata: {
      promptTokenCount: input,
      cachedContentTokenCount: cached,
      candidatesTokenCount: output - thoughts,
      thoughtsTokenCount: thoughts,
      totalTokenCount: input + output,
    },
    modelVersion: asked.model,
    responseId: `gemini-${asked.n}`,
  }
}

function geminiEvents(reply: StrictReply, asked: Asked): readonly SentEvent[] {
  const parts = geminiParts(reply).flatMap((part) =>
    typeof part.text === 'string' ? pieces(part.text).map((text) => ({ ...part, text })) : [part],
  )
  const each = parts.length > 0 ? parts : [{ text: '' }]
  return each.map((part, at) => ({ data: geminiBody(reply, asked, [part], at === each.length - 1) }))
}

export function bodyOf(api: StrictApi, reply: StrictReply, asked: Asked): unknown {
  if (reply.raw?.body !== undefined) return reply.raw.body
  if (api === 'chat') return chatBody(reply, asked)
  if (api === 'responses') return responseBody(reply, asked)
  return api === 'messages' ? messageBody(reply, asked) : geminiBody(reply, asked)
}

/** The events of a reply as they are written. */
export function streamOf(api: StrictApi, reply: StrictReply, asked: Asked, asksUsage: boolean): string {
  return eventsOf(api, reply, asked, asksUsage)
    .map(({ name, data }) => {
      const text = typeof data === 'string' ? data : JSON.stringify(data)
      return `${name === undefined ? '' : `event: ${name}\n`}data: ${text}\n\n`
    })
    .join('')
}

function eventsOf(
  api: StrictApi,
  reply: StrictReply,
  asked: Asked,
  asksUsage: boolean,
): readonly SentEvent[] {
  const given = reply.raw?.events
  if (given !== undefined) {
    const isNamed = api === 'responses' || api === 'messages'
    return given.map((data) => {
      const type = typeof data === 'object' && data !== null && 'type' in data ? String(data.type) : undefined
      return isNamed && type !== undefined ? { name: type, data } : { data }
    })
  }
  if (api === 'chat') return chatEvents(reply, asked, asksUsage)
  if (api === 'responses') return responseEvents(reply, asked)
  return api === 'messages' ? messageEvents(reply, asked) : geminiEvents(reply, asked)
}
