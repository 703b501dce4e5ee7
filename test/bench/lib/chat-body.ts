/**
 * The reply that the upstream stand-in must send. It is part of the prompt, which every gateway passes on.
 */
export interface Answer {
  /** The number of events with content. Without one, the reply is JSON. */
  readonly events?: number
  /** Milliseconds between events. 0 sends all of them at once. */
  readonly paceMs?: number
  /** Each event in a TCP segment of its own, as fast as possible. */
  readonly segments?: boolean
  /** An error of this status instead of a reply. */
  readonly status?: number
}

export const ANSWER_MARK = 'bench-answer '

/** Content, the end of the choice, the usage, `[DONE]`. */
export function eventsOf(answer: Answer): number {
  return (answer.events ?? 0) + 3
}

/** A request body with a prompt padded to about this many bytes. */
export function chatBody(model: string, answer: Answer, promptBytes = 0): string {
  const { events = 0, paceMs = 0, segments = false, status = 0 } = answer
  const directive = `${ANSWER_MARK}${events},${paceMs},${Number(segments)},${status};`
  const filling = FILLING.repeat(Math.ceil(promptBytes / FILLING.length)).slice(0, promptBytes)
  return JSON.stringify({
    model,
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: `${filling}Hello! ${directive}` },
    ],
    ...(events > 0 && { stream: true, stream_options: { include_usage: true } }),
  })
}

const FILLING = 'The quick brown fox jumps over the lazy dog, and says "good morning" to it.\n'
