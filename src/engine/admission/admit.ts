import type { Admit } from '../../contracts/admit.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import { CompatError } from '../../errors.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { within } from '../asking/within.js'
import { eventError } from '../events/event-error.js'
import type { Caller } from './authenticate.js'

/** Asks the host's own limiter. Throws if it refuses the call, or cannot answer. */
export async function admit(
  ask: Admit,
  caller: Caller,
  context: LazyContext,
  options: EngineOptions,
): Promise<void> {
  const overloaded = (cause: unknown): CompatError => {
    options.emit({ type: 'fault', where: 'admit', requestId: context.requestId, error: eventError(cause) })
    return new CompatError(
      'overloaded',
      'This service cannot take the request just now. Try again shortly.',
      { cause },
    )
  }
  let answer: Awaited<ReturnType<typeof ask>> | undefined
  try {
    answer = await within(options.clock, options.limits.storeMs, ask(caller.principal, context))
  } catch (cause) {
    throw overloaded(cause)
  }
  if (answer?.ok === true) return
  if (answer?.ok !== false)
    throw overloaded(new TypeError('admit() answered neither { ok: true } nor { ok: false }'))
  throw new CompatError('rate_limited', 'Too many requests. Try again when retry-after is over.', {
    headers: { 'retry-after': String(answer.retryAfterSeconds) },
  })
}
