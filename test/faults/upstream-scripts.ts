import { finishChunk, type Script, type Step, sse, textChunk } from '../helpers/scripted-upstream.js'

/** Parts of a provider's reply that can be combined in any order. */

/** 20 bytes: 5 tokens by the documented ratio. */
export const TEXT = 'twenty bytes of text'

export const HEAD: Step = { head: 200, headers: { 'content-type': 'text/event-stream' } }
export const ROLE: Step = events({ ...textChunk(''), choices: [choice({ role: 'assistant', content: '' })] })
export const TOKENS: Step = events(textChunk(TEXT))
export const FINISH: Step = events(finishChunk())
export const ERROR_FINISH: Step = events(finishChunk('error'))
export const ERROR_FRAME: Step = events({ error: { message: 'The model fell over.', code: 500 } })
export const COMMENT: Step = { write: ': still thinking\n\n' }
export const DONE: Step = { write: 'data: [DONE]\n\n' }
/** Half an event with a second piece of text in it. */
export const HALF_EVENT: Step = {
  write: `data: ${JSON.stringify(textChunk('cut off in the middle')).slice(0, -20)}`,
}
export const USAGE: Step = usage({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 })

/** A chunk that has a usage and no choice. */
export function usage(counts: object): Step {
  return events({ ...textChunk(''), choices: [], usage: counts })
}

export function events(...list: readonly object[]): Step {
  return { write: sse(list) }
}

/** A chunk of any kind, of one choice. */
export function choice(delta: object, finishReason: string | null = null): object {
  return { index: 0, delta, finish_reason: finishReason }
}

/** A JSON reply. */
export function body(more: object = {}, message: object = { role: 'assistant', content: TEXT }): object {
  return {
    id: 'chatcmpl-upstream',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'upstream-model',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    ...more,
  }
}

export const COUNTS = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

/** The head and the first half of a JSON reply. */
export function halfBody(): Step[] {
  const text = JSON.stringify(body({ usage: COUNTS }))
  return [
    { head: 200, headers: { 'content-type': 'application/json', 'content-length': String(text.length) } },
    { write: text.slice(0, text.length / 2) },
  ]
}

/** A JSON reply that ends when its connection closes. */
export function wholeBody(content: object): Script {
  return [
    { head: 200, headers: { 'content-type': 'application/json' } },
    { write: JSON.stringify(content) },
    'end',
  ]
}
