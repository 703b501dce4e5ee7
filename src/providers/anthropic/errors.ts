import { ProviderError } from '../../base/errors.js'
import { readComplaint } from '../upstream-errors.js'

/** The HTTP status that the API sends for each type of error. */
const STATUS = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])

/** Returns the failure for an error inside a successful reply: `{ type: 'error', error: { type, message } }`. */
export function frameError(frame: unknown): ProviderError {
  const complaint = readComplaint(frame)
  return new ProviderError('error-frame', 'The reply contained an error.', {
    ...complaint,
    status: STATUS.get(complaint.providerCode ?? '') ?? complaint.status,
  })
}
