import { ProviderError } from '../errors.js'
import { hasManyBrackets } from '../protocol/json-body.js'

const MAX_DEPTH = 128

export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses what a provider sent as one JSON object nested at most 128 deep. Anything else is an `invalid-response`. */
export function parseProviderObject(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ProviderError('invalid-response', 'The reply holds something that is not JSON.', {
      cause: error,
    })
  }
  if (!isObject(value))
    throw new ProviderError('invalid-response', 'The reply holds JSON that is not an object.')
  if (hasManyBrackets(text) && isDeeperThan(value, MAX_DEPTH)) {
    throw new ProviderError('invalid-response', `The reply is nested deeper than ${MAX_DEPTH}.`)
  }
  return value
}

/** Parses what may be JSON; any other text is itself. */
export function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Turns latin1 (each character a byte of UTF-8) into text. */
export function fromLatin1(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  for (const member of Object.values(value)) if (isDeeperThan(member, depth - 1)) return true
  return false
}
