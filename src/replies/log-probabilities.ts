import { isObject, type JsonObject } from '../protocol/json-values.js'
import type { Losses } from './losses.js'

/**
 * Removes the log probabilities of a choice if they have another shape, for which strict clients would refuse the whole
 * reply. These clients require a `content`, so those of a refusal alone get an empty one.
 */
export function dropOddLogprobs(choice: JsonObject, losses: Losses): void {
  const { logprobs } = choice
  if (logprobs === undefined || logprobs === null) return
  if (isObject(logprobs) && isList(logprobs.content) && isList(logprobs.refusal)) {
    if (logprobs.content !== undefined) return
    if (Array.isArray(logprobs.refusal)) {
      choice.logprobs = Object.assign({}, logprobs, { content: null })
      return
    }
  }
  // Not deleted, since JSON omits it anyway.
  choice.logprobs = undefined
  losses.mend('member-dropped', 'logprobs')
}

function isList(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.every(isObject))
}
