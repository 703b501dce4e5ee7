import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { joinDetails } from '../../../replies/reasoning-details.js'

/** Reasoning of an earlier reply that its provider can verify or alone can read. */
export interface SealedReasoning {
  /** The provider that it came from. No other one gets it. */
  readonly provider: string
  /** As `reasoning_details` of a chat message. */
  readonly details: readonly JsonObject[]
}

const PREFIX = 'cr1.'

/**
 * Returns reasoning as the text of `encrypted_content`, with the name of its provider. It is not secret: a client can read
 * the same details in a chat completion.
 */
export function sealReasoning({ details, provider }: SealedReasoning): string {
  const json = JSON.stringify({ provider, details: joinDetails(details) })
  return PREFIX + Buffer.from(json).toString('base64url')
}

/** Returns the reasoning in an `encrypted_content`, or undefined if it comes from somewhere else. */
export function openReasoning(sealed: unknown): SealedReasoning | undefined {
  if (typeof sealed !== 'string' || !sealed.startsWith(PREFIX)) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(sealed.slice(PREFIX.length), 'base64url').toString())
    if (!isObject(value) || typeof value.provider !== 'string' || !Array.isArray(value.details))
      return undefined
    return { provider: value.provider, details: value.details.filter(isObject) }
  } catch {
    return undefined
  }
}
