/** Invented replies in the shape of the Messages API. */

export const messageStart = (usage: object = { input_tokens: 10, output_tokens: 1 }) => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [], usage },
})
export const blockStart = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
})
export const blockDelta = (index: number, delta: object) => ({ type: 'content_block_delta', index, delta })
export const blockStop = (index: number) => ({ type: 'content_block_stop', index })
export const messageDelta = (stop_reason: string | null, usage?: object) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  ...(usage ? { usage } : {}),
})
export const messageStop = { type: 'message_stop' }
export const ping = { type: 'ping' }

export const frame = (event: { type: string }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
export const frames = (events: readonly { type: string }[]) => events.map(frame).join('')

/** A reply with all kinds of content: thinking, text beyond ASCII, citations, calls with and without arguments. */
export const richStream = [
  messageStart({
    input_tokens: 10,
    cache_read_input_tokens: 5,
    cache_creation_input_tokens: 2,
    output_tokens: 1,
  }),
  ping,
  blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
  blockDelta(0, { type: 'thinking_delta', thinking: 'Let me ' }),
  blockDelta(0, { type: 'thinking_delta', thinking: 'see…' }),
  blockDelta(0, { type: 'signature_delta', signature: 'sig' }),
  blockStop(0),
  blockStart(1, { type: 'redacted_thinking', data: 'hidden' }),
  blockStop(1),
  blockStart(2, { type: 'text', text: '' }),
  blockDelta(2, { type: 'text_delta', text: 'Grüße 👋' }),
  blockDelta(2, {
    type: 'citations_delta',
    citation: {
      type: 'web_search_result_location',
      url: 'https://a.example',
      title: 'A',
      cited_text: 'said',
    },
  }),
  blockDelta(2, { type: 'citations_delta', citation: { type: 'char_location', document_index: 0 } }),
  blockStop(2),
  blockStart(3, { type: 'server_tool_use', id: 'srv', name: 'web_search', input: {} }),
  blockDelta(3, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
  blockStop(3),
  blockStart(4, { type: 'web_search_tool_result', tool_use_id: 'srv', content: [] }),
  blockStop(4),
  blockStart(5, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }),
  blockDelta(5, { type: 'input_json_delta', partial_json: '' }),
  blockDelta(5, { type: 'input_json_delta', partial_json: '{"at":' }),
  blockDelta(5, { type: 'input_json_delta', partial_json: '"sky"}' }),
  blockStop(5),
  blockStart(6, { type: 'tool_use', id: 'toolu_2', name: 'refresh', input: {} }),
  blockDelta(6, { type: 'input_json_delta', partial_json: '' }),
  blockStop(6),
  { type: 'something_new' },
  messageDelta('tool_use', { output_tokens: 40, output_tokens_details: { thinking_tokens: 12 } }),
  messageStop,
]
