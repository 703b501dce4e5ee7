import type { Script } from './scripted-upstream.js'

/** An API that a scripted model has. */
export type Dialect = 'chat' | 'messages' | 'responses'

export const THOUGHT = 'A city. I should look.'
export const PREAMBLE = 'Let me look.'
export const CALL = { id: 'call_weather', name: 'get_weather', arguments: '{"city":"Berlin"}' }
export const ANSWER = 'It is sunny in Berlin.'
export const OBJECT = '{"city":"Berlin"}'
/** The usage of each reply. */
export const TOKENS = { input: 11, output: 7 }
export const SIGNATURE = 'c2lnbmVk'
/** A prompt that gets an endless reply. */
export const ENDLESS = 'endless please'

type Body = Readonly<Record<string, unknown>>

interface Turn {
  readonly thought?: string
  readonly text: string
  readonly call?: typeof CALL
}

/**
 * A model that calls the first tool of a request once: it thinks, says what it does, and calls; given a result, it answers.
 * Asked for a JSON schema, it answers with an object. The usage is always the same.
 */
export function agent(dialect: Dialect, { endless = true } = {}): Script {
  return async (reply, request) => {
    const body = request.body as Body
    const stream = body.stream === true
    reply.head(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
    if (endless && request.text.includes(ENDLESS)) {
      const whole = write(dialect, { text: 'on and on' }, stream)
      await reply.write(whole.slice(0, whole.indexOf('\n\n', whole.indexOf('nd on')) + 2))
      await request.closed
      return
    }
    await reply.write(write(dialect, turnFor(request.text, body), stream))
    reply.end()
  }
}

function turnFor(text: string, { tools }: Body): Turn {
  if (/"json_schema"|"output_config"/.test(text)) return { text: OBJECT }
  const hasResult = /"role":"tool"|"tool_result"|"function_call_output"/.test(text)
  if (!Array.isArray(tools) || tools.length === 0 || hasResult) return { text: ANSWER }
  return { thought: THOUGHT, text: PREAMBLE, call: CALL }
}

function write(dialect: Dialect, turn: Turn, stream: boolean): string {
  if (dialect === 'chat') return stream ? chatStream(turn) : JSON.stringify(chatBody(turn))
  if (dialect === 'messages') return stream ? messageStream(turn) : JSON.stringify(messageBody(turn))
  return stream ? responseStream(turn) : JSON.stringify(response(turn, 'completed'))
}

const frames = (events: readonly object[]) =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const named = (events: readonly { readonly type: string }[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

// OpenAI's chat completions

const CHAT_USAGE = {
  prompt_tokens: TOKENS.input,
  completion_tokens: TOKENS.output,
  total_tokens: TOKENS.input + TOKENS.output,
}

const functionOf = ({ name, arguments: args }: typeof CALL) => ({ name, arguments: args })

function chatBody({ call, text, thought }: Turn): object {
  const message = {
    role: 'assistant',
    ...(thought !== undefined && { reasoning_content: thought }),
    content: text,
    ...(call !== undefined && {
      tool_calls: [{ id: call.id, type: 'function', function: functionOf(call) }],
    }),
  }
  const finish = call === undefined ? 'stop' : 'tool_calls'
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: finish }],
    usage: CHAT_USAGE,
  }
}

function chatStream({ call, text, thought }: Turn): string {
  const chunk = (choices: readonly object[], more: object = {}) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices,
    ...more,
  })
  const delta = (fields: object, finish: string | null = null) =>
    chunk([{ index: 0, delta: fields, finish_reason: finish }])
  const { half, rest } = halves(call?.arguments ?? '')
  return `${frames([
    delta({ role: 'assistant', content: '' }),
    ...(thought === undefined ? [] : [delta({ reasoning_content: thought })]),
    delta({ content: text.slice(0, 4) }),
    delta({ content: text.slice(4) }),
    ...(call === undefined
      ? []
      : [
          delta({
            tool_calls: [
              { index: 0, id: call.id, type: 'function', function: { name: call.name, arguments: half } },
            ],
          }),
          delta({ tool_calls: [{ index: 0, function: { arguments: rest } }] }),
        ]),
    delta({}, call === undefined ? 'stop' : 'tool_calls'),
    chunk([], { usage: CHAT_USAGE }),
  ])}data: [DONE]\n\n`
}

// Anthropic's messages

function blocksOf({ call, text, thought }: Turn): readonly Record<string, unknown>[] {
  return [
    ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought, signature: SIGNATURE }]),
    { type: 'text', text },
    ...(call === undefined
      ? []
      : [{ type: 'tool_use', id: call.id, name: call.name, input: JSON.parse(call.arguments) }]),
  ]
}

function messageBody(turn: Turn): object {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: blocksOf(turn),
    stop_reason: turn.call === undefined ? 'end_turn' : 'tool_use',
    usage: { input_tokens: TOKENS.input, output_tokens: TOKENS.output },
  }
}

function messageStream(turn: Turn): string {
  const blocks = blocksOf(turn).flatMap((block, index) => {
    const delta = (fields: object) => ({ type: 'content_block_delta', index, delta: fields })
    const stop = { type: 'content_block_stop', index }
    const start = (empty: object) => ({ type: 'content_block_start', index, content_block: empty })
    switch (block.type) {
      case 'thinking':
        return [
          start({ type: 'thinking', thinking: '', signature: '' }),
          delta({ type: 'thinking_delta', thinking: block.thinking }),
          delta({ type: 'signature_delta', signature: block.signature }),
          stop,
        ]
      case 'text':
        return [start({ type: 'text', text: '' }), delta({ type: 'text_delta', text: block.text }), stop]
      default: {
        const { half, rest } = halves(JSON.stringify(block.input))
        return [
          start({ ...block, input: {} }),
          delta({ type: 'input_json_delta', partial_json: half }),
          delta({ type: 'input_json_delta', partial_json: rest }),
          stop,
        ]
      }
    }
  })
  const { content: _, stop_reason: reason, usage, ...message } = messageBody(turn) as Record<string, unknown>
  return named([
    {
      type: 'message_start',
      message: {
        ...message,
        content: [],
        stop_reason: null,
        usage: { input_tokens: TOKENS.input, output_tokens: 1 },
      },
    } as { type: string },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason: reason }, usage } as { type: string },
    { type: 'message_stop' },
  ])
}

// OpenAI's responses

export const ENCRYPTED = 'gAAAAABencrypted'

function itemsOf({ call, text, thought }: Turn): readonly Record<string, unknown>[] {
  return [
    ...(thought === undefined
      ? []
      : [
          {
            id: 'rs_upstream',
            type: 'reasoning',
            summary: [{ type: 'summary_text', text: thought }],
            encrypted_content: ENCRYPTED,
          },
        ]),
    {
      id: 'msg_upstream',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      phase: call === undefined ? 'final_answer' : 'commentary',
      content: [{ type: 'output_text', text, annotations: [] }],
    },
    ...(call === undefined
      ? []
      : [
          {
            id: 'fc_upstream',
            type: 'function_call',
            status: 'completed',
            call_id: call.id,
            name: call.name,
            arguments: call.arguments,
          },
        ]),
  ]
}

function response(turn: Turn, status: string): Record<string, unknown> {
  const isDone = status === 'completed'
  return {
    id: 'resp_upstream',
    object: 'response',
    created_at: 1,
    status,
    model: 'm',
    output: isDone ? itemsOf(turn) : [],
    usage: isDone
      ? {
          input_tokens: TOKENS.input,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: TOKENS.output,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: TOKENS.input + TOKENS.output,
        }
      : null,
  }
}

function responseStream(turn: Turn): string {
  const items = itemsOf(turn).flatMap((item, index) => {
    const place = { item_id: item.id, output_index: index }
    const event = (type: string, fields: object) => ({ type, ...place, ...fields })
    const around = (empty: object, inner: readonly { type: string }[]) => [
      { type: 'response.output_item.added', output_index: index, item: { ...item, ...empty } },
      ...inner,
      { type: 'response.output_item.done', output_index: index, item },
    ]
    switch (item.type) {
      case 'reasoning': {
        const text = turn.thought!
        return around({ summary: [], encrypted_content: 'gAAAAABpartial' }, [
          event('response.reasoning_summary_part.added', {
            summary_index: 0,
            part: { type: 'summary_text', text: '' },
          }),
          event('response.reasoning_summary_text.delta', { summary_index: 0, delta: text }),
          event('response.reasoning_summary_text.done', { summary_index: 0, text }),
        ])
      }
      case 'message': {
        const part = { type: 'output_text', text: '', annotations: [] }
        return around({ content: [], status: 'in_progress' }, [
          event('response.content_part.added', { content_index: 0, part }),
          event('response.output_text.delta', {
            content_index: 0,
            delta: turn.text.slice(0, 4),
            logprobs: [],
          }),
          event('response.output_text.delta', {
            content_index: 0,
            delta: turn.text.slice(4),
            obfuscation: 'xY2',
          }),
          event('response.output_text.done', { content_index: 0, text: turn.text }),
          event('response.content_part.done', { content_index: 0, part: { ...part, text: turn.text } }),
        ])
      }
      default: {
        const { half, rest } = halves(turn.call!.arguments)
        return around({ arguments: '', status: 'in_progress' }, [
          event('response.function_call_arguments.delta', { delta: half }),
          event('response.function_call_arguments.delta', { delta: rest }),
          event('response.function_call_arguments.done', { arguments: half + rest }),
        ])
      }
    }
  })
  const states = (type: string, status: string) => ({ type, response: response(turn, status) })
  const all = [
    states('response.created', 'in_progress'),
    states('response.in_progress', 'in_progress'),
    ...items,
    states('response.completed', 'completed'),
  ]
  return named(all.map((event, index) => ({ ...event, sequence_number: index })))
}

function halves(text: string): { half: string; rest: string } {
  const middle = Math.floor(text.length / 2)
  return { half: text.slice(0, middle), rest: text.slice(middle) }
}
