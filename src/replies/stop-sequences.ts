import { isText, type JsonObject } from '../protocol/json-values.js'

/**
 * Returns the text at which a model stopped, as vLLM and SGLang name it in the choice of a chat. Undefined if the client
 * did not ask to stop there.
 */
export function matchedStop(
  { matched_stop: matched, stop_reason: reason }: JsonObject,
  sequences: ReadonlySet<unknown>,
): string | undefined {
  return [reason, matched].filter(isText).find((text) => sequences.has(text))
}
