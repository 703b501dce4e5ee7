import { CompatError, isCompatError } from '../../base/errors.js'
import type { Awaitable } from '../../contracts/context.js'
import type { Principal } from '../../contracts/credentials.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { LazyContext } from '../asking/lazy-context.js'
import type { Asking } from '../asking/stores.js'
import { within } from '../asking/within.js'
import { eventError } from '../events/event-error.js'

/**
 * Asks the host's own limiter, if there is one. Throws if it refuses the request or does not answer. A `CompatError`
 * thrown by the limiter is sent to the client.
 */
export function askLimiter(
  principal: Principal,
  context: LazyContext,
  options: Asking & Pick<EngineOptions, 'admit'>,
): Awaitable<void> {
  const { admit } = options
  return admit === undefined ? undefined : ask(admit, principal, context, options)
}

async function ask(
  admit: NonNullable<EngineOptions['admit']>,
  principal: Principal,
  context: LazyContext,
  options: Asking,
): Promise<void> {
  const overloaded = (cause: unknown): CompatError => {
    options.emit({ type: 'fault', where: 'admit', requestId: context.requestId, error: eventError(cause) })
    return new CompatError(
      'overloaded',
      'This service cannot take the request just now. Try again shortly.',
      { cause },
    )
  }
  let answer: Awaited<ReturnType<typeof admit>> | undefined
  try {
    answer = await within(options.clock, options.timeouts.storeMs, admit(principal, context))
  } catch (cause) {
    throw isCompatError(cause) ? cause : overloaded(cause)
  }
  if (answer?.ok === true) return
  if (answer?.ok !== false)
    throw overloaded(new TypeError('admit() returned neither { ok: true } nor { ok: false }'))
  throw new CompatError('rate_limited', 'Too many requests. Try again when retry-after is over.', {
    headers: { 'retry-after': String(answer.retryAfterSeconds) },
  })
}
