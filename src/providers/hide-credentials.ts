import { isProviderError, ProviderError } from '../errors.js'

const HIDDEN = '[redacted]'
/** Headers whose values are credentials, whatever else a host sends. */
const CREDENTIAL_HEADER = /auth|key|token|secret|cookie|password/i
const SCHEME = /^[\w-]+ +(?=\S)/

/** The credentials among the headers of a call, names and values in turn, without their scheme. */
export function credentialsIn(headers: readonly string[]): readonly string[] {
  return headers.flatMap((name, index) => {
    const value = index % 2 === 0 && CREDENTIAL_HEADER.test(name) ? headers[index + 1]! : ''
    return value === '' ? [] : value.replace(SCHEME, '')
  })
}

/**
 * The same failure without the credentials of its call in what the provider said: the router, which cleans these words
 * for the client, does not know an adapter's own key.
 */
export function hideCredentials(failure: unknown, credentials: readonly string[]): unknown {
  if (!isProviderError(failure) || credentials.length === 0) return failure
  const { cause, message, param, providerCode, providerMessage, reason, retryAfterSeconds, status } = failure
  const hide = (text: string | undefined): string | undefined =>
    text === undefined
      ? undefined
      : credentials.flatMap(spellings).reduce((left, spelling) => left.replaceAll(spelling, HIDDEN), text)
  const hidden = { param: hide(param), providerMessage: hide(providerMessage) }
  if (hidden.param === param && hidden.providerMessage === providerMessage) return failure
  return new ProviderError(reason, message, { cause, providerCode, retryAfterSeconds, status, ...hidden })
}

function spellings(credential: string): string[] {
  const quoted = JSON.stringify(credential).slice(1, -1)
  const base64 = Buffer.from(credential).toString('base64')
  return [credential, quoted, base64, base64.replace(/=+$/, ''), encodeURIComponent(credential)]
}
