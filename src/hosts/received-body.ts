import type { Clock } from '../base/clock.js'
import { CompatError } from '../base/errors.js'
import type { FastPaths } from '../contracts/index.js'
import type { Sizes, Timeouts } from '../contracts/limits.js'
import { asCompatError } from '../protocol/error-body.js'
import { checkJsonValue, parseJsonBody } from '../protocol/json-body.js'
import { memorySize } from '../protocol/memory-size.js'
import type { ReceivedBody } from '../protocol/request-body.js'
import type { RequestHeaders } from '../protocol/request-headers.js'
import type { BodyBudget } from './body-budget.js'
import { tooLarge } from './collect-body.js'

/** The parts that all calls of one handler share. */
export interface CallTools {
  readonly timeouts: Timeouts
  readonly sizes: Sizes
  readonly clock: Clock
  readonly fastPaths: Pick<FastPaths, 'messages'>
  readonly budget: BodyBudget
  readonly onBodyConsumed: (requestId: string) => void
}

/** The rest of a refused body is read and discarded up to this size, so that the connection can stay open. */
export const DRAIN_LIMIT_BYTES = 64 * 1024

/** Parses a body that was read here. */
export function parseBytes(bytes: Uint8Array, { fastPaths }: CallTools): ReceivedBody {
  if (bytes.length === 0) {
    throw new CompatError('invalid_json', 'The request body is empty; send a JSON object.')
  }
  return parseJsonBody(bytes, fastPaths.messages)
}

/** Takes a body that the host has read: its text, its bytes, or what its parser made of them. */
export function takeRead(body: unknown, headers: RequestHeaders, tools: CallTools): ReceivedBody {
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    if (bytes.length > tools.sizes.bodyBytes) throw tooLarge(tools.sizes.bodyBytes)
    return parseBytes(bytes, tools)
  }
  const value = checkJsonValue(body)
  const declared = headers.header('content-encoding') === undefined ? declaredBytes(headers) : undefined
  return { value, bytes: declared ?? memorySize(value) }
}

/** Reports that somebody else has read the body and kept nothing. */
export function bodyConsumed(requestId: string, tools: CallTools): CompatError {
  tools.onBodyConsumed(requestId)
  return asCompatError(new Error('Another middleware has consumed the request body.'))
}

export function abandoned(): CompatError {
  return new CompatError('invalid_request', 'The request ended before its body was read.')
}

export function declaredBytes(headers: RequestHeaders): number | undefined {
  const header = headers.header('content-length')
  if (header === undefined || isChunked(headers)) return undefined
  const bytes = Number(header)
  return Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : undefined
}

export function isChunked(headers: RequestHeaders): boolean {
  return headers.header('transfer-encoding') !== undefined
}
