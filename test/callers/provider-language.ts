import type { Bill } from './bill.js'

export interface ToolCall {
  readonly id?: unknown
  readonly name?: unknown
  readonly arguments?: unknown
}

/** The format of a provider's replies. */
export interface ProviderLanguage {
  open(bill: Bill): string
  text(text: string, choice: number): string
  toolCalls(calls: readonly ToolCall[]): string
  finish(reason: string, choices: number): string
  usage(bill: Bill | undefined): string
  errorFrame(message: string): string
  body(reply: WholeReply): string
  error(message: string, type: string): string
}

export interface WholeReply {
  readonly texts: readonly string[]
  readonly calls: readonly ToolCall[]
  readonly reason: string
  readonly bill: Bill | undefined
}

const ID = { id: 'chatcmpl-of-the-provider', created: 1_700_000_000, model: 'upstream-2026' }
const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const chunk = (choices: readonly object[], more: object = {}): string =>
  data({ ...ID, object: 'chat.completion.chunk', choices, ...more })
const delta = (fields: object, index = 0, finish_reason: string | null = null) => ({
  index,
  delta: fields,
  finish_reason,
})
const toolCallsOf = (calls: readonly ToolCall[]) =>
  calls.map((call, index) => ({
    index,
    id: call.id ?? `call_${index}`,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }))

const usageOf = ({ prompt, cacheWrite, completion, reasoning }: Bill) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: cacheWrite },
  completion_tokens_details: { reasoning_tokens: reasoning },
})

const openai: ProviderLanguage = {
  open: () => chunk([delta({ role: 'assistant', content: '' })]),
  text: (content, choice) => chunk([delta({ content }, choice)]),
  toolCalls: (calls) =>
    toolCallsOf(calls)
      .map((call) => chunk([delta({ tool_calls: [call] })]))
      .join(''),
  finish: (reason, choices) =>
    Array.from({ length: choices }, (_, index) => chunk([delta({}, index, reason)])).join(''),
  usage: (bill) => `${bill === undefined ? '' : chunk([], { usage: usageOf(bill) })}data: [DONE]\n\n`,
  errorFrame: (message) => data({ error: { message, type: 'server_error', param: null, code: null } }),
  body: ({ bill, calls, reason, texts }) =>
    JSON.stringify({
      ...ID,
      object: 'chat.completion',
      choices: texts.map((content, index) => ({
        index,
        message: {
          role: 'assistant',
          content: content === '' && calls.length > 0 ? null : content,
          ...(calls.length > 0 && index === 0 && { tool_calls: toolCallsOf(calls) }),
        },
        finish_reason: reason,
      })),
      ...(bill !== undefined && { usage: usageOf(bill) }),
    }),
  error: (message, type) => JSON.stringify({ error: { message, type, param: null, code: null } }),
}

const REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
}
const event = (value: { readonly type: string; readonly [field: string]: unknown }): string =>
  `event: ${value.type}\n${data(value)}`
const anthropicInput = ({ cacheWrite, prompt }: Bill) => ({
  input_tokens: prompt - cacheWrite,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: cacheWrite,
})

const anthropicOutput = ({ completion, reasoning }: Bill) => ({
  output_tokens: completion,
  output_tokens_details: { thinking_tokens: reasoning },
})

const anthropic: ProviderLanguage = {
  open: (bill) =>
    event({
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        content: [],
        usage: { ...anthropicInput(bill), output_tokens: Math.min(1, bill.completion) },
      },
    }) + event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  text: (text) => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  toolCalls: (calls) =>
    calls
      .map(
        ({ id, name, arguments: json }, index) =>
          event({
            type: 'content_block_start',
            index: index + 1,
            content_block: { type: 'tool_use', id: id ?? `toolu_${index}`, name, input: {} },
          }) +
          event({
            type: 'content_block_delta',
            index: index + 1,
            delta: { type: 'input_json_delta', partial_json: json },
          }) +
          event({ type: 'content_block_stop', index: index + 1 }),
      )
      .join(''),
  finish: () => event({ type: 'content_block_stop', index: 0 }),
  usage: (bill) =>
    event({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      ...(bill !== undefined && { usage: anthropicOutput(bill) }),
    }) + event({ type: 'message_stop' }),
  errorFrame: (message) => event({ type: 'error', error: { type: 'overloaded_error', message } }),
  body: ({ bill, calls, reason, texts }) =>
    JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [
        ...(texts[0] === '' ? [] : [{ type: 'text', text: texts[0] }]),
        ...calls.map(({ id, name, arguments: json }) => ({
          type: 'tool_use',
          id: id ?? 'toolu_1',
          name,
          input: JSON.parse(String(json)),
        })),
      ],
      stop_reason: REASONS[reason] ?? 'end_turn',
      ...(bill !== undefined && { usage: { ...anthropicInput(bill), ...anthropicOutput(bill) } }),
    }),
  error: (message, type) => JSON.stringify({ type: 'error', error: { type, message } }),
}

export const LANGUAGES = { openai, anthropic, 'ai-sdk': openai } as const
