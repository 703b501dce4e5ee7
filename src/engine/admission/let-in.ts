import type { Api } from '../../contracts/operation.js'
import type { IncomingCall } from '../../contracts/reply.js'
import type { LazyContext } from '../asking/lazy-context.js'
import type { CallLog } from '../events/call-log.js'
import { askLimiter } from './ask-limiter.js'
import { type Admission, authenticate, type Caller } from './authenticate.js'

/** Runs a free request if its credential is valid, its account has room, and the host's limiter admits it. */
export async function letIn(
  parts: Admission,
  call: IncomingCall,
  context: LazyContext,
  log: CallLog,
  run: (caller: Caller) => Promise<void>,
  { tokenHeader }: Api = {},
): Promise<void> {
  const { options } = parts
  const caller = await authenticate(call, context, parts, log, tokenHeader)
  const leave = parts.inFlight.visit(caller.principal)
  try {
    await askLimiter(caller.principal, context, options)
    await run(caller)
  } finally {
    leave()
  }
}
