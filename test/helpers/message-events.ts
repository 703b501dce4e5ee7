import { expect } from 'vitest'

/** One event of a stream of the Messages API. */
export interface MessageEvent {
  readonly type: string
  readonly [member: string]: unknown
}

type Members = Readonly<Record<string, unknown>>

const DELTAS: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  redacted_thinking: [],
}

/** Reads the events of a stream. Each must be a line with its name, a line with its data, and a blank line. */
export function readEvents(stream: string): MessageEvent[] {
  const frames = stream.split('\n\n')
  expect(frames.pop(), 'the end of the stream').toBe('')
  return frames.flatMap((frame) => {
    if (frame.startsWith(':')) return []
    const [, name, data] = /^event: (\w+)\ndata: (\{.*\})$/.exec(frame) ?? []
    expect(data, `a frame: ${frame}`).toBeDefined()
    const event: MessageEvent = JSON.parse(data!)
    expect(event.type, 'the name of an event').toBe(name)
    return [event]
  })
}

/** A message as its stream adds up to it. */
export interface StreamedMessage {
  readonly message: Members
  readonly content: readonly Members[]
  readonly stopReason: unknown
  readonly stopSequence: unknown
  readonly usage: Members
  /** The error at the end, if the stream failed. */
  readonly error: Members | undefined
}

/**
 * Checks that the events of a stream are in order, and joins them: one start, then each block from its start to
 * its stop before the next one begins, with deltas of its own type alone; then the end of the message, or an error.
 */
export function checkEvents(events: readonly MessageEvent[]): StreamedMessage {
  const content: Record<string, unknown>[] = []
  let message: Members | undefined
  let open: Record<string, unknown> | undefined
  let input = ''
  let end: MessageEvent | undefined
  let isOver = false
  let error: Members | undefined
  for (const event of events) {
    expect(isOver, `${event.type} after the end`).toBe(false)
    if (event.type === 'ping') continue
    if (event.type === 'error') {
      error = event.error as Members
      isOver = true
      continue
    }
    if (event.type === 'message_start') {
      expect(message, 'a second start').toBeUndefined()
      message = event.message as Members
      expect(message).toMatchObject({ type: 'message', role: 'assistant', content: [], stop_reason: null })
      continue
    }
    expect(message, `${event.type} before the start`).toBeDefined()
    if (event.type === 'message_stop') {
      expect(end, 'the delta before the stop').toBeDefined()
      isOver = true
      continue
    }
    expect(end, `${event.type} after message_delta`).toBeUndefined()
    switch (event.type) {
      case 'content_block_start':
        expect(open, 'a block in a block').toBeUndefined()
        expect(event.index).toBe(content.length)
        open = { ...(event.content_block as object) }
        input = ''
        content.push(open)
        break
      case 'content_block_delta': {
        expect(open, 'a delta outside of a block').toBeDefined()
        expect(event.index).toBe(content.length - 1)
        const delta = event.delta as Record<string, string>
        const known = DELTAS[open!.type as string]
        if (known !== undefined) expect(known).toContain(delta.type)
        if (delta.type === 'input_json_delta') input += delta.partial_json
        else if (delta.type === 'citations_delta')
          open!.citations = [...((open!.citations as unknown[]) ?? []), delta.citation]
        else if (delta.type === 'signature_delta') open!.signature = delta.signature
        else {
          const name = delta.type === 'text_delta' ? 'text' : 'thinking'
          open![name] = (open![name] as string) + delta[name]
        }
        break
      }
      case 'content_block_stop':
        expect(open, 'the stop of no block').toBeDefined()
        expect(event.index).toBe(content.length - 1)
        if (input !== '') open!.input = JSON.parse(input)
        open = undefined
        break
      case 'message_delta':
        expect(open, 'the end within a block').toBeUndefined()
        end = event
        break
      default:
        expect.fail(`an unknown event ${event.type}`)
    }
  }
  expect(isOver, 'the stream has an end').toBe(true)
  return {
    message: message ?? {},
    content,
    stopReason: (end?.delta as Members | undefined)?.stop_reason,
    stopSequence: (end?.delta as Members | undefined)?.stop_sequence,
    usage: (end?.usage ?? {}) as Members,
    error,
  }
}
