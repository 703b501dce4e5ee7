import { CompatError } from '../../base/errors.js'
import { type HoldRefusal, refusedHold } from './credit.js'

const MAY_BE_BILLED = Object.freeze({ 'x-should-retry': 'false' })

/** How the router or the client ended a call before the provider did. */
export interface BrokenOff {
  readonly ended: string
  /** A refusal if the hold was lost and could not be taken again. */
  readonly stoppedBy?: 'deadline' | 'shutdown' | HoldRefusal | undefined
}

/** Returns the error for a reply that was cut off or empty although no provider failed. */
export function brokenOff({ ended, stoppedBy }: BrokenOff): CompatError {
  if (stoppedBy === 'shutdown') return shuttingDown(MAY_BE_BILLED)
  const headers = MAY_BE_BILLED
  if (stoppedBy === 'deadline') {
    return new CompatError('provider_timeout', 'The call exceeded its time limit.', { headers })
  }
  if (typeof stoppedBy === 'object') {
    const { code, message } = refusedHold(stoppedBy)
    return new CompatError(code, `The credit on hold for this call was lost. ${message}`, { headers })
  }
  if (ended === 'left') {
    const message = 'The client left, and the reply was not read to its end.'
    return new CompatError('provider_timeout', message, { headers })
  }
  return new CompatError('provider_invalid_response', 'The provider of this model sent an empty reply.', {
    source: 'provider',
  })
}

export function shuttingDown(headers: Readonly<Record<string, string>> = {}): CompatError {
  return new CompatError('shutting_down', 'This service is shutting down. Try again shortly.', { headers })
}
