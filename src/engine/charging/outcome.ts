/** How a call came to its end, once nothing more of it will be read. */
export interface CallEnd {
  /**
   * - `finished`: the provider said so, or gave every choice begun a finish reason, and no error came
   * - `broken`: the provider failed, or sent an error, or fell silent
   * - `left`: the client went away and the call was not read to its end
   * - `stopped`: the total deadline passed, the reply was too long, or the router shut down
   * - `cut`: the cost reached the hold, under `neverOverdraw`
   */
  readonly ended: 'finished' | 'broken' | 'left' | 'stopped' | 'cut'
  /** Whether the 200 of a stream is out, or would be had the client stayed. */
  readonly streaming: boolean
  /** A delta came that holds more than a role and empty strings. */
  readonly token: boolean
  /** The provider gave a finish reason. */
  readonly finishReason: boolean
  /** The provider reported its usage at or after the finish. */
  readonly reported: boolean
  /** Content came that cannot be read. Of a stream nothing was sent after it; a reply in one body goes out without it. */
  readonly unreadable: boolean
  /** The report has both prompt and completion, so that nothing is estimated. */
  readonly complete: boolean
}

export interface Outcome {
  /**
   * - `nothing`: no charge, fixed parts included: the hold is released
   * - `reported`: the provider's counts
   * - `estimated`: our counts, the provider having finished without its own
   * - `partial`: the part that had arrived when the router ended the call
   */
  readonly due: 'nothing' | 'reported' | 'estimated' | 'partial'
  /** The reply for a client that is still there: whole, cut off for its length, or an error. */
  readonly reply: 'whole' | 'length' | 'error'
}

const NOTHING_AND_ERROR: Outcome = { due: 'nothing', reply: 'error' }

/** The truth table of docs/charging.md. No other code decides what is due. */
export function outcome(end: CallEnd): Outcome {
  // The model was made to say it, and the provider bills for it.
  if (end.unreadable && end.streaming) return { due: end.reported ? 'reported' : 'partial', reply: 'error' }
  switch (end.ended) {
    case 'finished':
      if (end.reported) return { due: 'reported', reply: 'whole' }
      if (end.token) return { due: 'estimated', reply: 'whole' }
      return end.finishReason ? { due: 'nothing', reply: 'whole' } : NOTHING_AND_ERROR
    case 'broken':
      if (!end.streaming || !end.token || !end.reported || !end.complete) return NOTHING_AND_ERROR
      return { due: 'reported', reply: 'error' }
    case 'left':
      return end.token ? { due: 'partial', reply: 'error' } : NOTHING_AND_ERROR
    case 'stopped':
      return end.streaming && end.token ? { due: 'partial', reply: 'error' } : NOTHING_AND_ERROR
    case 'cut':
      return { due: 'partial', reply: 'length' }
  }
}
