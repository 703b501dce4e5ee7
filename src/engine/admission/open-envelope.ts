import { CompatError } from '../../base/errors.js'
import type { Secret } from '../../contracts/context.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { EnvelopeBinding } from '../../contracts/envelope.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { type Asking, askStore } from '../asking/stores.js'
import { faultyStore } from '../failures/store-failures.js'

/**
 * Opens a caller's sealed provider key. Throws a 400 if the key cannot be used, and a 503 if the opener does not
 * answer.
 */
export async function openEnvelope(
  envelope: string,
  binding: EnvelopeBinding,
  context: LazyContext,
  options: Asking & Pick<EngineOptions, 'envelopes'>,
): Promise<Secret> {
  const { envelopes } = options
  if (envelopes === undefined) {
    throw new CompatError('provider_not_enabled', "This service does not accept callers' provider keys.", {
      param: 'provider_key',
    })
  }
  const opened = await askStore('envelopes', options, context, () =>
    envelopes.open(envelope, binding, context),
  )
  if (opened?.ok === true) {
    // Without the caller's key, the call would use the host's.
    if (isKey(opened.secret)) return opened.secret
    throw faultyStore('envelopes', options, context.requestId, 'open() returned no key')
  }
  switch (opened?.reason) {
    case 'expired':
      throw new CompatError(
        'provider_key_expired',
        'The provider key in provider_key has expired. Seal it again.',
        {
          param: 'provider_key',
        },
      )
    case 'mismatch':
      throw new CompatError(
        'provider_key_mismatch',
        'provider_key was sealed for another provider or another account.',
        { param: 'provider_key' },
      )
    case 'invalid':
      throw new CompatError(
        'provider_key_invalid',
        'provider_key cannot be opened. Seal the key with a current public key from GET /envelope-keys.',
        { param: 'provider_key' },
      )
  }
  throw faultyStore('envelopes', options, context.requestId, 'open() returned neither a key nor a reason')
}

function isKey(secret: Secret | undefined): boolean {
  const key: unknown = typeof secret?.reveal === 'function' ? secret.reveal() : undefined
  return typeof key === 'string' && key !== ''
}
