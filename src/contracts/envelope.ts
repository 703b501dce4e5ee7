import type { Awaitable, CallContext, Secret } from './context.js'

/** Opens sealed provider keys of callers. */
export interface Envelopes {
  /**
   * Opens an envelope that was sealed for this provider and this account. An invalid envelope is a result, not an error. A
   * throw means 503 `envelope_opener_unavailable`.
   */
  open(envelope: string, binding: EnvelopeBinding, context: CallContext): Awaitable<OpenResult>
  /** Returns the public keys to seal with, as a JWK set. A throw means 503. A set with a private key is not published. */
  publicKeys?(): Awaitable<{ readonly keys: readonly object[] }>
}

export interface EnvelopeBinding {
  readonly provider: string
  readonly account: string
}

export type OpenResult =
  | { readonly ok: true; readonly secret: Secret }
  | { readonly ok: false; readonly reason: 'invalid' | 'expired' | 'mismatch' }
