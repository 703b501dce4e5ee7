import { isProviderError, ProviderError } from '../base/errors.js'
import { head } from '../protocol/provider-message.js'
import { holdsSecret } from '../protocol/secret-search.js'

const CREDENTIAL_NAME =
  /auth|key|token|secret|cookie|pass|pwd|session|sig(?:nature)?(?![a-z])|cred|jwt|bearer/i
const SCHEME = /^[\w-]+ +(?=\S)/
const CREDENTIAL_VALUE = /^(?:basic|bearer|digest|token) +\S/i

/** Whether a header is a credential, by its name or by a value such as `Bearer …`. */
export function isCredentialHeader(name: string, value: string): boolean {
  return CREDENTIAL_NAME.test(name) || CREDENTIAL_VALUE.test(value)
}

/** Returns the credentials in a call's headers, a list of alternating names and values, without their scheme. */
export function credentialsIn(headers: readonly string[]): readonly string[] {
  return headers.flatMap((name, index) => {
    const value = index % 2 === 0 ? headers[index + 1]! : ''
    return value !== '' && isCredentialHeader(name, value) ? [value.replace(SCHEME, '')] : []
  })
}

/**
 * Returns the failure with the address that was called, but without provider text that contains a credential of the
 * call. The router cleans these texts for the client and the host, but it does not know an adapter's own key.
 */
export function describeFailure(failure: unknown, address: string, credentials: readonly string[]): unknown {
  if (!isProviderError(failure)) return failure
  const { cause, message, reason, retryAfterSeconds, status } = failure
  const safe = (text: string | undefined): string | undefined =>
    text === undefined || holdsSecret(head(text), credentials) ? undefined : text
  const param = safe(failure.param)
  const providerCode = safe(failure.providerCode)
  const providerMessage = safe(failure.providerMessage)
  return new ProviderError(reason, message, {
    address,
    cause,
    param,
    providerCode,
    providerMessage,
    retryAfterSeconds,
    status,
  })
}
