import type { Members } from '../conversation/delta.js'
import { isObject, type JsonObject } from '../protocol/json-values.js'
import type { Losses } from './losses.js'

/** Removes the log probabilities of a choice if they are odd. See {@link readableLogprobs}. */
export function dropOddLogprobs(choice: JsonObject, losses: Losses): void {
  const { logprobs } = choice
  if (logprobs === undefined || logprobs === null) return
  // Not deleted, since JSON omits it anyway.
  choice.logprobs = readableLogprobs(logprobs, losses)
}

/**
 * Returns log probabilities as strict clients read them. Undefined if they have another shape, for which these clients
 * would refuse the whole reply. They require a `content`, so those of a refusal alone get an empty one.
 */
export function readableLogprobs(logprobs: unknown, losses: Losses): Members | undefined {
  if (isObject(logprobs) && isList(logprobs.content) && isList(logprobs.refusal)) {
    if (logprobs.content !== undefined) return logprobs
    if (Array.isArray(logprobs.refusal)) return Object.assign({}, logprobs, { content: null })
  }
  losses.mend('member-dropped', 'logprobs')
  return undefined
}

function isList(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.every(isObject))
}
