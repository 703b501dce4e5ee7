import type { ReasoningName, ReasoningNaming, ReplyReader } from '../../../contracts/reasoning-name.js'
import { isReasoningName, REASONING_NAMES } from '../../../rules/reasoning-names.js'

/** Clients that read only `reasoning`: OpenRouter's, and OpenAI's Agents SDK for JavaScript. */
const READ_REASONING = /\bopenrouter\b|^Agents\/JavaScript\b/i

/**
 * Returns the field in which a client gets reasoning. The default is never `both`, because some clients then show the
 * text twice, and some fail.
 */
export function reasoningNameFor(
  chosen: ReasoningName | ReasoningNaming | undefined,
  reader: ReplyReader,
): ReasoningName {
  const own = typeof chosen === 'function' ? chosen(reader) : chosen
  if (own === undefined) {
    return READ_REASONING.test(reader.userAgent ?? '') ? 'reasoning' : 'reasoning_content'
  }
  if (!isReasoningName(own)) throw new TypeError(`reasoningName returned none of ${REASONING_NAMES}.`)
  return own
}
