import { CompatError } from '../../errors.js'
import { shuttingDown } from '../admission/in-flight.js'
import type { AttemptEnd } from './attempt-end.js'

const MAY_BE_BILLED = Object.freeze({ 'x-should-retry': 'false' })

/** What a client is told of a reply that is an error although no provider failed: it was broken off, or is empty. */
export function brokenOff({ ended, stoppedBy }: AttemptEnd): CompatError {
  if (stoppedBy === 'shutdown') return shuttingDown(MAY_BE_BILLED)
  const headers = MAY_BE_BILLED
  if (stoppedBy === 'deadline') {
    return new CompatError('provider_timeout', 'The call took longer than a call may take.', { headers })
  }
  if (ended === 'left') {
    const message = 'The reply was not read to its end after its client had left.'
    return new CompatError('provider_timeout', message, { headers })
  }
  return new CompatError('provider_invalid_response', 'The provider of this model sent an empty reply.', {
    source: 'provider',
  })
}
