import { ProviderError } from '../base/errors.js'

/** Returns the error for a request that the provider cannot express. The message is shown to the caller. */
export function unsupported(param: string, message: string): ProviderError {
  return new ProviderError('unsupported-request', message, { param })
}
