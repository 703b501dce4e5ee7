import { isProviderError, ProviderError } from '../../base/errors.js'
import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { UnreadableContent } from '../unreadable.js'
import { frameError, meantStatus, parseRetryAfter, readComplaint } from '../upstream-errors.js'

const MAX_CAUSES = 3
const MESSAGE_CHARACTERS = 65_536

/** Errors for a request that the provider cannot express. */
const UNSUPPORTED = new Set([
  'AI_UnsupportedFunctionalityError',
  'AI_InvalidPromptError',
  'AI_InvalidArgumentError',
])
const STATUS_BY_TYPE = new Map([
  ['overloaded_error', 529],
  ['rate_limit_error', 429],
  ['authentication_error', 401],
])

/**
 * Converts an error thrown by a model of the AI SDK to a `ProviderError`. Recognises it by its fields and name, since
 * each package may bring its own copy of the classes. The error itself is not kept: it contains the request, and so
 * the caller's text.
 */
export function toProviderError(error: unknown): ProviderError {
  if (isProviderError(error)) return error
  if (!isObject(error))
    return new ProviderError('invalid-response', 'The model threw a value that is not an error.')
  const name = textOf(error.name) ?? 'Error'
  if (typeof error.statusCode === 'number') return toStatusError(error, error.statusCode, name)
  if (UNSUPPORTED.has(name)) return toUnsupported(error)
  if (name === 'AI_LoadAPIKeyError') {
    return new ProviderError('status', 'The model has no key.', { status: 401 })
  }
  if (name === 'AI_NoSuchModelError') {
    return new ProviderError('status', 'The package does not know the model.', { status: 404 })
  }
  return toConnectionError(error) ?? new ProviderError('invalid-response', `The model failed with ${name}.`)
}

/** Converts an `error` part of a stream. */
export function toFrameError(error: unknown): ProviderError {
  const failed = failureIn(error)
  if (failed !== undefined) return frameError({ error: failed })
  if (isObject(error) && typeof error.statusCode === 'number' && error.statusCode >= 400) {
    const status = toStatusError(error, error.statusCode, 'Error')
    return new ProviderError('error-frame', 'The reply contained an error.', fieldsOf(status))
  }
  const failure = isObject(error) ? (toConnectionError(error) ?? toOwnError(error)) : undefined
  if (failure !== undefined) return failure
  const complaint = readComplaint(error instanceof Error ? error.message : error)
  const status = complaint.status ?? STATUS_BY_TYPE.get(complaint.providerCode ?? '')
  return new ProviderError('error-frame', 'The reply contained an error.', { ...complaint, status })
}

/** Package errors for JSON that has an unexpected shape, such as a tool call without a name. */
const UNREADABLE = new Set(['AI_TypeValidationError', 'AI_InvalidResponseDataError'])

/**
 * Returns an error if the package could not read a piece of valid JSON, since the model may have been made to write it.
 */
export function toUnreadable(error: unknown): UnreadableContent | undefined {
  if (!isObject(error)) return undefined
  const name = textOf(error.name) ?? ''
  // Without the piece, the error is about the whole reply, for example that it had no end.
  const isOfPiece = error.data !== undefined || error.value !== undefined
  return UNREADABLE.has(name) && isOfPiece ? new UnreadableContent(couldNotRead(name)) : undefined
}

const couldNotRead = (name: string) => `The model could not read the reply (${name}).`

/** Converts an error that the package made of a reply that it could not read. Its message may contain the reply. */
function toOwnError(error: JsonObject): ProviderError | undefined {
  const name = textOf(error.name)
  return name?.startsWith('AI_') ? new ProviderError('invalid-response', couldNotRead(name)) : undefined
}

function fieldsOf({
  address,
  status,
  retryAfterSeconds,
  providerMessage,
  param,
  providerCode,
}: ProviderError) {
  return { address, status, retryAfterSeconds, providerMessage, param, providerCode }
}

/**
 * Returns the error in a reply that says that it failed: in the body of the Responses API, or in `response.failed` of its
 * stream. For these, packages make up a status or cannot read them.
 */
function failureIn(reply: unknown): unknown {
  if (!isObject(reply)) return undefined
  const response = reply.object === 'response' ? reply : reply.response
  return isObject(response) ? (response.error ?? undefined) : undefined
}

/** Returns the usage in a successful reply that is JSON of an unexpected shape. */
export function usageRefused(error: unknown, replyBytes: number): unknown {
  if (!isObject(error) || error.statusCode !== 200) return undefined
  if (!isObject(error.cause) || error.cause.name !== 'AI_TypeValidationError') return undefined
  const body = parse(error.responseBody, replyBytes)
  if (!isObject(body) || failureIn(body) !== undefined) return undefined
  return body.usage ?? body.usageMetadata
}

/** A successful reply whose body the model could not read also has a status. */
function toStatusError(error: JsonObject, status: number, name: string): ProviderError {
  const body = error.data ?? parse(error.responseBody)
  const failed = failureIn(body)
  if (failed !== undefined) return frameError({ error: failed })
  if (status < 400 || status > 599) {
    return new ProviderError('invalid-response', couldNotRead(name), { address: textOf(error.url) })
  }
  const complaint = readComplaint(body ?? error.message)
  return new ProviderError('status', `The provider answered ${status}.`, {
    ...complaint,
    address: textOf(error.url),
    status: meantStatus(status, complaint),
    retryAfterSeconds: parseRetryAfter(readHeader(error.responseHeaders, 'retry-after')),
  })
}

function toUnsupported(error: JsonObject): ProviderError {
  const functionality = textOf(error.functionality)
  const detail = functionality === undefined ? '' : `: ${functionality}`
  return new ProviderError('unsupported-request', `This provider's API cannot express the request${detail}.`)
}

/** Timeouts of the `fetch` that a model was given. The provider has the request and may bill it. */
const ANSWER_TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** Recognises failed connections by their codes. After any other error, the provider may have the request. */
function toConnectionError(error: JsonObject): ProviderError | undefined {
  const address = textOf(error.url)
  let current: unknown = error
  for (let depth = 0; depth <= MAX_CAUSES && isObject(current); depth++) {
    const code = textOf(current.code) ?? ''
    if (ANSWER_TIMEOUTS.has(code) || current.name === 'TimeoutError') {
      return new ProviderError('answer-timeout', 'The model did not answer in time.', { address })
    }
    if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') {
      return new ProviderError('timeout', 'Connecting took too long.', { address })
    }
    if (/^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_TLS_.*|CERT_.*)$/.test(code)) {
      return new ProviderError('unreachable', `No connection could be made (${code}).`, { address })
    }
    if (/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(code)) {
      return new ProviderError('cut-short', `The connection ended before the reply did (${code}).`, {
        address,
      })
    }
    current = current.cause
  }
  return undefined
}

function parse(body: unknown, most = MESSAGE_CHARACTERS): unknown {
  if (isObject(body)) return body
  if (typeof body !== 'string' || body.length > most) return undefined
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function readHeader(headers: unknown, name: string): string | undefined {
  if (!isObject(headers)) return undefined
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)
  return textOf(found?.[1])
}
