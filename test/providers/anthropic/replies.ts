/** Events in the shape of the Messages API. */

export const messageStart = <Usage extends object>(usage?: Usage) => ({
  type: 'message_start',
  message: {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [] },
    ...{ stop_reason: null, stop_sequence: null, usage: usage ?? { input_tokens: 10, output_tokens: 1 } },
  },
})
export const blockStart = <Block extends object>(index: number, content_block: Block) => ({
  type: 'content_block_start',
  index,
  content_block,
})
export const blockDelta = <Delta extends object>(index: number, delta: Delta) => ({
  type: 'content_block_delta',
  index,
  delta,
})
export const blockStop = (index: number) => ({ type: 'content_block_stop', index })
export const messageDelta = <Usage extends object>(stop_reason: string | null, usage?: Usage) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  ...(usage ? { usage } : {}),
})
export const messageStop = { type: 'message_stop' }
export const ping = { type: 'ping' }

export const frame = (event: { readonly type?: unknown }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
export const frames = (events: readonly { readonly type?: unknown }[]) => events.map(frame).join('')
