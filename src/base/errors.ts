/** The only table of error codes, with their statuses and types. */
const ERRORS = {
  invalid_json: [400, 'invalid_request_error'],
  invalid_request: [400, 'invalid_request_error'],
  unsupported_parameter: [400, 'invalid_request_error'],
  invalid_session_id: [400, 'invalid_request_error'],
  provider_key_not_encrypted: [400, 'invalid_request_error'],
  provider_key_invalid: [400, 'invalid_request_error'],
  provider_key_expired: [400, 'invalid_request_error'],
  provider_key_mismatch: [400, 'invalid_request_error'],
  provider_key_rejected: [400, 'invalid_request_error'],
  provider_not_enabled: [400, 'invalid_request_error'],
  no_route_matches: [400, 'invalid_request_error'],
  context_length_exceeded: [400, 'invalid_request_error'],
  provider_rejected_request: [400, 'invalid_request_error'],
  missing_credential: [401, 'authentication_error'],
  invalid_api_key: [401, 'authentication_error'],
  expired_credential: [401, 'authentication_error'],
  revoked_credential: [401, 'authentication_error'],
  insufficient_credits: [402, 'billing_error'],
  budget_exceeded: [402, 'billing_error'],
  insufficient_scope: [403, 'permission_error'],
  model_not_allowed: [403, 'permission_error'],
  app_mismatch: [403, 'permission_error'],
  origin_not_allowed: [403, 'permission_error'],
  account_suspended: [403, 'permission_error'],
  model_not_found: [404, 'invalid_request_error'],
  not_found: [404, 'invalid_request_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  request_timeout: [408, 'invalid_request_error'],
  idempotency_in_flight: [409, 'invalid_request_error'],
  idempotency_completed: [409, 'invalid_request_error'],
  request_too_large: [413, 'invalid_request_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  idempotency_mismatch: [422, 'invalid_request_error'],
  credits_on_hold: [429, 'rate_limit_error'],
  rate_limited: [429, 'rate_limit_error'],
  budget_on_hold: [429, 'rate_limit_error'],
  internal_error: [500, 'server_error'],
  price_missing: [500, 'server_error'],
  provider_error: [502, 'server_error'],
  provider_invalid_response: [502, 'server_error'],
  provider_auth_failed: [502, 'server_error'],
  no_route_available: [503, 'server_error'],
  provider_overloaded: [503, 'server_error'],
  overloaded: [503, 'server_error'],
  memory_full: [503, 'server_error'],
  ledger_unavailable: [503, 'server_error'],
  credential_store_unavailable: [503, 'server_error'],
  catalogue_unavailable: [503, 'server_error'],
  provider_registry_unavailable: [503, 'server_error'],
  envelope_opener_unavailable: [503, 'server_error'],
  idempotency_store_unavailable: [503, 'server_error'],
  shutting_down: [503, 'server_error'],
  provider_timeout: [504, 'server_error'],
} as const satisfies Record<string, readonly [status: number, type: string]>

/** Every value of `error.code`. */
export type ErrorCode = keyof typeof ERRORS

/** All error codes, for documentation and tests. */
export const errorCodes: readonly { code: ErrorCode; status: number; type: string }[] = Object.entries(
  ERRORS,
).map(([code, [status, type]]) => ({ code: code as ErrorCode, status, type }))

/** A list of faults, or the members by which clients of an API recognise the error. */
export type ErrorDetails = readonly unknown[] | Readonly<Record<string, unknown>>

export interface CompatErrorFields {
  /** The request field at fault, such as `messages.2.content`. */
  param?: string
  /** `provider` if the text or the cause comes from the provider. */
  source?: 'gateway' | 'provider'
  details?: ErrorDetails
  metadata?: Readonly<Record<string, unknown>>
  headers?: Readonly<Record<string, string>>
  /** The underlying error, for events only. It is never sent to clients. */
  cause?: unknown
}

const BRAND = Symbol.for('compat-router.error')

/**
 * An error reply to the client. Its message is sent unchanged, so it must contain nothing internal. A host's store and
 * its `admit` may throw one, but not a ledger: whatever a ledger throws becomes a 503. The constructor throws a `TypeError` if
 * {@link errorCodes} does not contain the code.
 */
export class CompatError extends Error {
  override readonly name = 'CompatError'
  readonly [BRAND] = true
  readonly status: number
  readonly type: string
  readonly param: string | null
  readonly source: 'gateway' | 'provider'
  readonly details: ErrorDetails | undefined
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    readonly code: ErrorCode,
    message: string,
    fields: CompatErrorFields = {},
  ) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause })
    if (!Object.hasOwn(ERRORS, code)) {
      throw new TypeError(
        `CompatError: unknown code ${JSON.stringify(code)}; errorCodes lists the known ones.`,
      )
    }
    const [status, type] = ERRORS[code]
    this.status = status
    this.type = type
    this.param = fields.param ?? null
    this.source = fields.source ?? 'gateway'
    this.details = fields.details
    this.metadata = fields.metadata
    this.headers = fields.headers ?? {}
  }
}

/**
 * Whether a value is a {@link CompatError}, even from another copy of this module.
 *
 * @example
 * ```ts
 * if (isCompatError(error)) console.log(error.code, error.status)
 * ```
 */
export function isCompatError(value: unknown): value is CompatError {
  return hasBrand(value, BRAND)
}

/**
 * How a provider failed.
 *
 * - `unreachable`: no connection could be made
 * - `timeout`: connecting took too long
 * - `answer-timeout`: it accepted the request and did not answer in time. It may bill, so no other provider is tried
 * - `status`: it answered with an HTTP error status
 * - `invalid-response`: its answer is not a valid reply (a redirect, an encoding, bad JSON, more than a limit)
 * - `error-frame`: its reply reported a failure
 * - `cut-short`: the connection ended in the middle of a reply
 * - `unsupported-request`: this provider's API cannot express the request; the message may be shown to the caller
 */
export type ProviderErrorReason =
  | 'unreachable'
  | 'timeout'
  | 'answer-timeout'
  | 'status'
  | 'invalid-response'
  | 'error-frame'
  | 'cut-short'
  | 'unsupported-request'

export interface ProviderErrorFields {
  /** The upstream's HTTP status, or the status in its error frame. */
  status?: number
  /** The upstream's `retry-after`, in seconds, unchanged. */
  retryAfterSeconds?: number
  /** The upstream's own words, not cleaned. */
  providerMessage?: string
  /** The request field that the upstream reports as the cause. */
  param?: string
  /** The upstream's own code, such as `context_length_exceeded`. */
  providerCode?: string
  /** The URL that was called, for events only. Events omit its user, password and query. */
  address?: string
  cause?: unknown
}

const PROVIDER_BRAND = Symbol.for('compat-router.provider-error')

/** The only error that an adapter may throw. Its message is for events. A client may see `providerMessage`, cleaned. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  readonly [PROVIDER_BRAND] = true
  readonly status: number | undefined
  readonly retryAfterSeconds: number | undefined
  readonly providerMessage: string | undefined
  readonly param: string | undefined
  readonly providerCode: string | undefined
  readonly address: string | undefined

  constructor(
    readonly reason: ProviderErrorReason,
    message: string,
    fields: ProviderErrorFields = {},
  ) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.status = fields.status
    this.retryAfterSeconds = fields.retryAfterSeconds
    this.providerMessage = fields.providerMessage
    this.param = fields.param
    this.providerCode = fields.providerCode
    this.address = fields.address
  }
}

/**
 * Whether a value is a {@link ProviderError}, even from another copy of this module.
 *
 * @example
 * ```ts
 * if (isProviderError(error)) console.log(error.reason, error.providerCode)
 * ```
 */
export function isProviderError(value: unknown): value is ProviderError {
  return hasBrand(value, PROVIDER_BRAND)
}

const TOO_LONG_BRAND = Symbol.for('compat-router.reply-too-long')

class ReplyTooLong extends Error {
  override readonly name = 'ReplyTooLong'
  readonly [TOO_LONG_BRAND] = true
}

/** Returns the error for a reply of more bytes than `sizes.replyBytes`. */
export function replyTooLong(replyBytes: number): ProviderError {
  const message = `The reply is longer than ${replyBytes} bytes.`
  return new ProviderError('invalid-response', message, { cause: new ReplyTooLong(message) })
}

/** Returns the error for an event of more bytes than `sizes.eventBytes`. It ends a reply as {@link replyTooLong} does. */
export function eventTooLong(eventBytes: number): ProviderError {
  const message = `An event of the stream is longer than ${eventBytes} bytes.`
  return new ProviderError('invalid-response', message, { cause: new ReplyTooLong(message) })
}

/** Whether {@link replyTooLong} or {@link eventTooLong} created the error. Checks its cause, since the error may be a copy. */
export function isReplyTooLong({ cause }: ProviderError): boolean {
  return hasBrand(cause, TOO_LONG_BRAND)
}

/** Never throws, even if the value is a proxy that does. */
function hasBrand(value: unknown, brand: symbol): boolean {
  try {
    return typeof value === 'object' && value !== null && brand in value
  } catch {
    return false
  }
}
