import { isWithin, parseText } from '../../../protocol/inner-json.js'
import { MAX_VALUES } from '../../../protocol/json-scan.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import { MAX_DETAILS } from '../../../protocol/request-fields/messages.js'
import { ifRight, type Member } from '../../../protocol/request-fields/reading.js'
import { joinDetails } from '../../../replies/reasoning-details.js'

/** Reasoning of an earlier reply. Only its provider can verify or read it. */
export interface SealedReasoning {
  /** The provider that produced it. No other provider gets it. */
  readonly provider: string
  /** In the format of `reasoning_details` of a chat message. */
  readonly details: readonly JsonObject[]
}

const PREFIX = 'cr1.'
/** All reasoning of a request together may have ten times as many values. */
const MAX_SEALED_VALUES = MAX_VALUES / 10

/**
 * Returns reasoning as the text of `encrypted_content`, with the name of its provider. It is not secret: a client can
 * read the same details in a chat completion. Returns undefined if a request could not send it back.
 */
export function sealReasoning({ details, provider }: SealedReasoning): string | undefined {
  const joined = joinDetails(details)
  if (joined.length > MAX_DETAILS) return undefined
  const json = JSON.stringify({ provider, details: joined })
  return isWithin(json, MAX_SEALED_VALUES) ? PREFIX + Buffer.from(json).toString('base64url') : undefined
}

/** The reasoning in the `encrypted_content` of one request. Each text is parsed once, however often it is read. */
export class SealedThoughts {
  private readonly opened = new Map<string, SealedReasoning | undefined>()

  /** Returns undefined for reasoning from elsewhere. Its JSON must be within the limits. */
  open(sealed: unknown): SealedReasoning | undefined {
    if (typeof sealed !== 'string' || !sealed.startsWith(PREFIX)) return undefined
    if (!this.opened.has(sealed)) this.opened.set(sealed, readSealed(jsonIn(sealed)))
    return this.opened.get(sealed)
  }
}

/** Reads an `encrypted_content`. A wrong value is omitted, and JSON beyond the limits is a fault. */
export const sealedReasoning: Member = (value, place, reading) => {
  if (typeof value === 'string' && value.startsWith(PREFIX)) reading.checkInnerJson(jsonIn(value), place)
  return ofReply(value, place, reading)
}

const ofReply = ifRight((value) => typeof value === 'string')

function jsonIn(sealed: string): string {
  return Buffer.from(sealed.slice(PREFIX.length), 'base64url').toString()
}

function readSealed(json: string): SealedReasoning | undefined {
  const value = parseText(json)
  if (!isObject(value) || typeof value.provider !== 'string' || !Array.isArray(value.details))
    return undefined
  return { provider: value.provider, details: value.details.filter(isObject) }
}
