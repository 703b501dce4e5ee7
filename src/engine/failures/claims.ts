import { CompatError } from '../../base/errors.js'
import type { Charge } from '../../contracts/ledger.js'
import { wireUsage } from '../../protocol/wire-usage.js'

export function callInFlight(): CompatError {
  return new CompatError('idempotency_in_flight', 'A call with this Idempotency-Key is still running.')
}

export function replyNotKept(): CompatError {
  return new CompatError(
    'idempotency_in_flight',
    'A call with this Idempotency-Key is still running, and its reply is too large to be followed.',
  )
}

export function callCompleted(charge: Charge): CompatError {
  return new CompatError(
    'idempotency_completed',
    'A call with this Idempotency-Key was completed and charged; its reply is not kept.',
    { metadata: { usage: wireUsage(charge) } },
  )
}

/** Returns the error for a broken stream that was charged. A repeat with the same key gets the same part of the reply. */
export function brokenAndCharged(error: CompatError): CompatError {
  const { code, message, param } = error
  const told = `${message} The part that arrived was charged. Use a new Idempotency-Key to try again.`
  return new CompatError(code, told, { ...error, param: param ?? undefined })
}

export function otherBody(): CompatError {
  return new CompatError('idempotency_mismatch', 'This Idempotency-Key was used with another request body.')
}

export function badKey(): CompatError {
  return new CompatError(
    'invalid_request',
    'The header Idempotency-Key must be 1 to 255 visible ASCII characters.',
    { param: 'Idempotency-Key' },
  )
}
