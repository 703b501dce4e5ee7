import { isReplyTooLong, ProviderError } from '../../base/errors.js'
import type { CallEnd } from '../charging/outcome.js'
import type { HoldRefusal } from '../failures/credit.js'

/** Why the router itself ended an attempt. */
export type Interruption =
  | { readonly why: 'left' | 'deadline' | 'shutdown' | 'cut' }
  | { readonly why: 'broken'; readonly error: ProviderError }
  | { readonly why: 'refused'; readonly refusal: HoldRefusal }

export interface HowItEnded {
  readonly ended: CallEnd['ended']
  /** Set if `ended` is `broken`, or `stopped` because of the reply's length. */
  readonly failure?: ProviderError | undefined
  /** Set if `ended` is `stopped` for another reason. */
  readonly stoppedBy?: 'deadline' | 'shutdown' | HoldRefusal | undefined
}

export interface AttemptEnd extends HowItEnded {
  readonly terminated: boolean
  readonly firstTokenMs: number | undefined
  readonly durationMs: number
}

/** The facts of an attempt once nothing more of it is read. */
export interface AttemptFacts {
  readonly interruption: Interruption | undefined
  /** The provider stated the end of its reply, before any interruption. */
  readonly terminated: boolean
  /** The provider's failure, if nothing interrupted it. */
  readonly failed: ProviderError | undefined
  /** Every choice begun has its finish reason. */
  readonly finished: boolean
}

/** Decides how an attempt ended if several things apply: first an error in the stream, then a proper end, then the rest. */
export function howItEnded({ interruption, terminated, failed, finished }: AttemptFacts): HowItEnded {
  const failure = interruption?.why === 'broken' ? interruption.error : failed
  if (failure?.reason === 'error-frame') return { ended: 'broken', failure }
  if (terminated || finished) return { ended: 'finished' }
  // A client can ask for a reply as long as this: without a charge, all that it has got of it would be free.
  if (failure !== undefined && isReplyTooLong(failure)) return { ended: 'stopped', failure }
  if (failure !== undefined) return { ended: 'broken', failure }
  switch (interruption?.why) {
    case 'left':
    case 'cut':
      return { ended: interruption.why }
    case 'deadline':
    case 'shutdown':
      return { ended: 'stopped', stoppedBy: interruption.why }
    case 'refused':
      return { ended: 'stopped', stoppedBy: interruption.refusal }
  }
  return {
    ended: 'broken',
    failure: new ProviderError('cut-short', 'The provider closed its reply before the end.'),
  }
}
