import type { Usage } from '../../src/protocol/usage.js'
import {
  blockDelta,
  blockStart,
  blockStop,
  frames,
  messageDelta,
  messageStart,
  messageStop,
} from '../providers/anthropic/replies.js'
import type { Language } from './adapter-upstream.js'

const ENVELOPE = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'upstream-model' }

const openAiUsage = ({ prompt, cached, completion, reasoning }: Usage) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
})

const sseChunk = (delta: object, finish_reason: string | null = null) =>
  sseData({
    ...ENVELOPE,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  })

const sseData = (value: object) => `data: ${JSON.stringify(value)}\n\n`

const functionOf = ({ name, arguments: text }: { name: string; arguments: string }) => ({
  name,
  arguments: text,
})

/** OpenAI's chat completions API. */
export const openAiLanguage: Language = {
  open: () => sseChunk({ role: 'assistant', content: '' }),
  text: (content) => sseChunk({ content }),
  close: ({ toolCalls, finish, usage }) =>
    [
      ...toolCalls.map((call, index) =>
        sseChunk({ tool_calls: [{ index, id: call.id, type: 'function', function: functionOf(call) }] }),
      ),
      sseChunk({}, finish),
      sseData({ ...ENVELOPE, object: 'chat.completion.chunk', choices: [], usage: openAiUsage(usage) }),
      'data: [DONE]\n\n',
    ].join(''),
  body: ({ text, toolCalls, finish, usage }) => ({
    ...ENVELOPE,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text.join(''),
          ...(toolCalls.length === 0
            ? {}
            : {
                tool_calls: toolCalls.map((call) => ({
                  id: call.id,
                  type: 'function',
                  function: functionOf(call),
                })),
              }),
        },
        finish_reason: finish,
      },
    ],
    usage: openAiUsage(usage),
  }),
  errorBody: (message, code = undefined) => ({
    error: { message, type: 'some_error', param: null, code: code ?? null },
  }),
  noise: `: keep-alive\n\n${sseData({ ...ENVELOPE, object: 'chat.completion.chunk', choices: [] })}`,
  errorFrame: (message) => sseData({ error: { message, type: 'server_error', param: null, code: null } }),
}

const STOP_REASONS = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

const anthropicUsage = ({ prompt, cached, completion }: Usage) => ({
  input_tokens: prompt - cached,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: 0,
  output_tokens: completion,
})

/** Anthropic's Messages API. */
export const anthropicLanguage: Language = {
  open: ({ usage }) =>
    frames([
      messageStart({ ...anthropicUsage(usage), output_tokens: 1 }),
      blockStart(0, { type: 'text', text: '' }),
    ]),
  text: (text) => frames([blockDelta(0, { type: 'text_delta', text })]),
  close: ({ toolCalls, finish, usage }) =>
    frames([
      blockStop(0),
      ...toolCalls.flatMap((call, index) => [
        blockStart(index + 1, { type: 'tool_use', id: call.id, name: call.name, input: {} }),
        blockDelta(index + 1, { type: 'input_json_delta', partial_json: call.arguments }),
        blockStop(index + 1),
      ]),
      messageDelta(STOP_REASONS[finish], { output_tokens: usage.completion }),
      messageStop,
    ]),
  body: ({ text, toolCalls, finish, usage }) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'text', text: text.join('') },
      ...toolCalls.map(({ id, name, arguments: json }) => ({
        type: 'tool_use',
        id,
        name,
        input: JSON.parse(json),
      })),
    ],
    stop_reason: STOP_REASONS[finish],
    usage: anthropicUsage(usage),
  }),
  errorBody: (message, code = 'some_error') => ({ type: 'error', error: { type: code, message } }),
  noise: `: keep-alive\n\nevent: ping\n${sseData({ type: 'ping' })}event: later\n${sseData({ type: 'later' })}`,
  errorFrame: (message) =>
    `event: error\n${sseData({ type: 'error', error: { type: 'overloaded_error', message } })}`,
}

const responsesUsage = ({ prompt, cached, completion, reasoning }: Usage) => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: completion,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: prompt + completion,
})

/** Why a response ended early, by its finish reason. */
const REASONS: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}
const endOf = (finish: string) =>
  REASONS[finish] === undefined
    ? {}
    : { incomplete_details: { reason: REASONS[finish] }, status: 'incomplete' }
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' }
const itemOf = ({ id, name, arguments: text }: { id: string; name: string; arguments: string }) => ({
  id: `fc_${id}`,
  type: 'function_call',
  status: 'completed',
  call_id: id,
  name,
  arguments: text,
})
const responseEvents = (...events: readonly { readonly type: string }[]) =>
  events.map((event) => `event: ${event.type}\n${sseData(event)}`).join('')
const response = (more: object) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1_700_000_000,
  model: 'upstream-model',
  status: 'completed',
  output: [],
  error: null,
  ...more,
})
const part = (text: string) => ({ type: 'output_text', text, annotations: [] })

/** OpenAI's Responses API. */
export const responsesLanguage: Language = {
  open: () =>
    responseEvents(
      { type: 'response.created', response: response({ status: 'in_progress' }) } as { type: string },
      { type: 'response.output_item.added', output_index: 0, item: { ...MESSAGE, content: [] } } as {
        type: string
      },
    ),
  text: (delta) =>
    responseEvents({ type: 'response.output_text.delta', output_index: 0, delta } as { type: string }),
  close: ({ finish, text, toolCalls, usage }) =>
    responseEvents(
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...MESSAGE, content: [part(text.join(''))] },
      } as { type: string },
      ...toolCalls.flatMap((call, index) => {
        const place = { output_index: index + 1 }
        return [
          { type: 'response.output_item.added', ...place, item: { ...itemOf(call), arguments: '' } },
          { type: 'response.function_call_arguments.delta', ...place, delta: call.arguments },
          { type: 'response.output_item.done', ...place, item: itemOf(call) },
        ]
      }),
      {
        type: `response.${REASONS[finish] === undefined ? 'completed' : 'incomplete'}`,
        response: response({ usage: responsesUsage(usage), ...endOf(finish) }),
      } as { type: string },
    ),
  body: ({ finish, text, toolCalls, usage }) =>
    response({
      output: [{ ...MESSAGE, content: [part(text.join(''))] }, ...toolCalls.map(itemOf)],
      usage: responsesUsage(usage),
      ...endOf(finish),
    }),
  errorBody: openAiLanguage.errorBody,
  noise: `: keep-alive\n\nevent: later\n${sseData({ type: 'later' })}`,
  errorFrame: (message) =>
    `event: error\n${sseData({ type: 'error', code: 'server_error', message, param: null })}`,
}
