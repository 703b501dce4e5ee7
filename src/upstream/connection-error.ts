import { ProviderError } from '../base/errors.js'

/** Of undici, and of Node's `fetch`, which is undici. */
const CONNECT_TIMEOUT = 'UND_ERR_CONNECT_TIMEOUT'
/** How Node, Bun and Deno say that no connection could be opened, so that the provider has received nothing. */
const NOT_OPENED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ConnectionRefused',
  'FailedToOpenSocket',
])
const TLS_FAILED = /^(?:ERR_SSL|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/
const NOT_OPENED_IN_DENO = 'client error (Connect)'

/** Whether a kept connection was reset before anything of the call was sent. */
export function isLostConnection(error: Error): boolean {
  return (error as NodeJS.ErrnoException).syscall === 'read'
}

/**
 * Returns the failure for an error of the connection. `sent` is true if sending the request may have begun, and
 * `hasReply` if the reply has: then the provider had the request, whatever the error's code. TLS fails with the same
 * codes while it is opened and later.
 */
export function connectionError(cause: unknown, sent: boolean, hasReply = false): ProviderError {
  const { code, message } = Object(cause) as Partial<NodeJS.ErrnoException>
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || isProtocolError(cause)) {
    return new ProviderError('invalid-response', 'The provider did not send valid HTTP.', { cause })
  }
  if (code === CONNECT_TIMEOUT || (!sent && code === 'ETIMEDOUT')) {
    return new ProviderError('timeout', 'Connecting took too long.', { cause })
  }
  const isNotOpened =
    !hasReply &&
    (NOT_OPENED.has(String(code)) || TLS_FAILED.test(String(code)) || message?.includes(NOT_OPENED_IN_DENO))
  if (sent && !isNotOpened) {
    return new ProviderError('cut-short', 'The connection ended before the reply did.', { cause })
  }
  return new ProviderError('unreachable', 'No connection could be made.', { cause })
}

/** Errors of undici's parser have no code. Errors about a premature end are not protocol errors. */
function isProtocolError(cause: unknown): boolean {
  return cause instanceof Error && cause.name === 'HTTPParserError' && !cause.message.includes('EOF')
}
