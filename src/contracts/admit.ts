import type { Awaitable, CallContext } from './context.js'
import type { Principal } from './credentials.js'

/**
 * A host's own limiter. The router asks it once the credential is known and before it reads the body. Throw a
 * `CompatError` to answer with your own error. Any other throw is a fault: 503 `overloaded`.
 */
export type Admit = (
  principal: Principal,
  context: CallContext,
) => Awaitable<{ readonly ok: true } | { readonly ok: false; readonly retryAfterSeconds: number }>
