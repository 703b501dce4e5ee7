/** JSON as a provider sends it. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
export type JsonObject = { [name: string]: Json }

/** The language that a provider speaks, and so the adapter that reads it. */
export type Language = 'openai' | 'gemini' | 'responses' | 'anthropic' | 'aisdk-v2' | 'aisdk-v3'

/** What a client must read of a reply. */
export interface Reply {
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly toolCalls: readonly {
    /** Undefined if the provider sends none, so that the router makes one up. */
    readonly id: string | undefined
    readonly name: string
    readonly arguments: string
  }[]
  readonly finishReason: 'stop' | 'tool_calls'
}

/** The usage that a client is charged for. */
export interface Counts {
  readonly prompt: number
  readonly cached: number
  readonly cacheWrite: number
  readonly completion: number
  readonly reasoning: number
}

interface Recorded<Spoken extends Language> {
  /** Completes "a recorded reply of …". */
  readonly name: string
  readonly language: Spoken
  readonly reply: Reply
  readonly counts: Counts
}

/** A good reply in the style of a provider, invented, as the events of a stream. */
export interface RecordedStream<Spoken extends Language = Language> extends Recorded<Spoken> {
  readonly events: readonly JsonObject[]
  /** Lines that the provider sends before the first event. */
  readonly before?: string
  readonly newline?: '\n' | '\r\n'
}

/** A good reply in the style of a provider, invented, as one body. */
export interface RecordedBody<Spoken extends Language = Language> extends Recorded<Spoken> {
  readonly body: JsonObject
}

/** A reply that ends with `stop` and has nothing but what is given. */
export const reply = (given: Partial<Reply>): Reply => ({
  text: '',
  reasoning: '',
  refusal: '',
  toolCalls: [],
  finishReason: 'stop',
  ...given,
})

export const counts = (prompt: number, completion: number, others: Partial<Counts> = {}): Counts => ({
  prompt,
  cached: 0,
  cacheWrite: 0,
  completion,
  reasoning: 0,
  ...others,
})

/** The line after the last event of chat completions. */
export const DONE = 'data: [DONE]'

/** The bytes of a stream, as its provider sends them. */
export function bytesOf({ before = '', events, language, newline = '\n' }: RecordedStream): Buffer {
  const isChat = language === 'openai' || language === 'gemini'
  const frames = events.map((event) => {
    const data = `data: ${JSON.stringify(event)}\n\n`
    return isChat ? data : `event: ${event.type}\n${data}`
  })
  const text = before + frames.join('') + (isChat ? `${DONE}\n\n` : '')
  return Buffer.from(text.replaceAll('\n', newline))
}
