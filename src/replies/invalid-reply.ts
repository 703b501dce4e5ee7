import { ProviderError } from '../base/errors.js'

export function invalidReply(what: string, cause?: unknown): ProviderError {
  return new ProviderError('invalid-response', `The provider's reply cannot be read: ${what}.`, { cause })
}
