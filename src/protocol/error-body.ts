import { CompatError, type ErrorCode, isCompatError } from '../base/errors.js'
import { JSON_TYPE } from './media-types.js'
import { asciiJson, jsonBytes, type WireBytes, wire } from './wire-bytes.js'

/** A whole HTTP answer: the arguments of `ReplyWriter.send`. */
export interface ErrorReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: WireBytes
}

/** The shape of the errors that the clients of one operation read. */
export interface ErrorStyle {
  /** Returns the JSON body of an error reply. */
  body(error: CompatError): object
  /** Returns the code of the error at the end of a stored stream, or undefined if the stream ended well. */
  endingCode(stream: string): string | undefined
}

const INTERNAL_MESSAGE =
  'An internal error occurred. The operator can find it by the x-request-id of this answer.'
const REALM = 'Bearer realm="compat"'

const CHALLENGES: Partial<Record<ErrorCode, string>> = {
  missing_credential: REALM,
  invalid_api_key: `${REALM}, error="invalid_token"`,
  expired_credential: `${REALM}, error="invalid_token", error_description="expired"`,
  revoked_credential: `${REALM}, error="invalid_token", error_description="revoked"`,
}

/** Whether a client library should retry the call. For other codes, libraries decide by the status. */
const SHOULD_RETRY: Partial<Record<ErrorCode, 'true' | 'false'>> = {
  // Claude Code would retry a bad key for minutes.
  missing_credential: 'false',
  invalid_api_key: 'false',
  expired_credential: 'false',
  revoked_credential: 'false',
  credits_on_hold: 'true',
  budget_on_hold: 'true',
  insufficient_credits: 'false',
  budget_exceeded: 'false',
  request_timeout: 'false',
  idempotency_completed: 'false',
  // The provider may have already billed these.
  provider_invalid_response: 'false',
  provider_timeout: 'false',
}

const MIN_RETRY_AFTER_SECONDS = 1
/** For 60 or more, several client libraries either wait that long or give up. */
const MAX_RETRY_AFTER_SECONDS = 59
/** Used if client libraries do not wait anyway. No period of a limit is longer than a month. */
const MAX_LONG_RETRY_AFTER_SECONDS = 31 * 24 * 60 * 60
const DEFAULT_RETRY_AFTER_SECONDS: Partial<Record<ErrorCode, number>> = {
  credits_on_hold: 5,
  budget_on_hold: 5,
  rate_limited: 1,
  idempotency_in_flight: 1,
}
const UNAVAILABLE_RETRY_AFTER_SECONDS = 5

/** The message before the code contains no unescaped quotes. */
const ENDING_ERROR = /^\ndata: \{"error":\{.*?"code":"(\w+)"/

/** OpenAI's shape. */
export const OPENAI_ERRORS: ErrorStyle = {
  body: (error) => ({ error: errorObject(error) }),
  endingCode: (stream) => ENDING_ERROR.exec(stream.slice(stream.lastIndexOf('\ndata: ')))?.[1],
}

/** Returns a caught `CompatError` unchanged, and for anything else an `internal_error` with a constant message. */
export function asCompatError(caught: unknown): CompatError {
  return isCompatError(caught)
    ? caught
    : new CompatError('internal_error', INTERNAL_MESSAGE, { cause: caught })
}

/**
 * Returns the HTTP answer for an error. Every 429 and 503 has a `retry-after` in whole seconds. The error's own value is
 * clamped to 1 to 59, unless `x-should-retry: false` tells client libraries not to wait for it. The error's other headers
 * (`allow`, `x-should-retry`) are sent unchanged.
 */
export function errorReply(error: CompatError, style: ErrorStyle = OPENAI_ERRORS): ErrorReply {
  const headers: Record<string, string> = { 'content-type': JSON_TYPE }
  const challenge = challengeOf(error)
  if (challenge !== undefined) headers['www-authenticate'] = challenge
  const shouldRetry = SHOULD_RETRY[error.code]
  if (shouldRetry !== undefined) headers['x-should-retry'] = shouldRetry
  Object.assign(headers, error.headers)
  const isLong = headers['x-should-retry'] === 'false'
  const longest = isLong ? MAX_LONG_RETRY_AFTER_SECONDS : MAX_RETRY_AFTER_SECONDS
  const retryAfter = retryAfterSeconds(error, longest)
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter)
  return { status: error.status, headers, body: jsonBytes(style.body(error)) }
}

function challengeOf({ code, metadata }: CompatError): string | undefined {
  if (code !== 'insufficient_scope') return CHALLENGES[code]
  return `${REALM}, error="insufficient_scope", scope="${metadata?.scope ?? 'models.run'}"`
}

/**
 * Returns the frame that ends a stream that failed after its headers were sent. `usage` is the charge, in the shape of a
 * reply's `usage`. The frame is ASCII.
 */
export function errorFrame(error: CompatError, usage: object): WireBytes {
  const { metadata, ...rest } = errorObject(error)
  const json = asciiJson({ error: { ...rest, metadata: { ...metadata, usage } } })
  return wire(`data: ${json}\n\n`)
}

/** Returns the members of an error in OpenAI's shape. */
export function errorObject(error: CompatError) {
  return {
    message: error.message,
    type: error.type,
    param: error.param,
    code: error.code,
    source: error.source,
    details: error.details,
    metadata: error.metadata,
  }
}

function retryAfterSeconds(error: CompatError, longest: number): number | undefined {
  const given = Number(error.headers['retry-after'] ?? Number.NaN)
  const required = error.status === 429 || error.status === 503
  const fallback =
    DEFAULT_RETRY_AFTER_SECONDS[error.code] ?? (required ? UNAVAILABLE_RETRY_AFTER_SECONDS : undefined)
  if (Number.isNaN(given)) return fallback
  return Math.min(Math.max(Math.ceil(given), MIN_RETRY_AFTER_SECONDS), longest)
}
