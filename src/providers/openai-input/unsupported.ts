import { ProviderError } from '../../base/errors.js'

/** What an adapter throws for a request that its provider has no words for. The message is shown to the caller. */
export function unsupported(param: string, message: string): ProviderError {
  return new ProviderError('unsupported-request', message, { param })
}
