import type { Awaitable, CallContext, Secret } from './context.js'

/** Opens the provider keys that callers send sealed. */
export interface Envelopes {
  /**
   * Opens an envelope that must have been made for this provider and this account.
   * A bad envelope is an outcome, not a throw; a throw means 503 `envelope_opener_unavailable`.
   */
  open(envelope: string, binding: EnvelopeBinding, context: CallContext): Awaitable<OpenResult>
  /** The public keys to seal with, as a JWK set. A throw means 503; a list with a private key in it is not published. */
  publicKeys?(): Awaitable<{ readonly keys: readonly object[] }>
}

export interface EnvelopeBinding {
  readonly provider: string
  readonly account: string
}

export type OpenResult =
  | { readonly ok: true; readonly secret: Secret }
  | { readonly ok: false; readonly reason: 'invalid' | 'expired' | 'mismatch' }
