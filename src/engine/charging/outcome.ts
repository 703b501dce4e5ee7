/** How a call ended, once nothing more of it will be read. */
export interface CallEnd {
  /**
   * - `finished`: the provider said so, or gave every choice a finish reason, and no error came
   * - `broken`: the provider failed, sent an error, or went silent
   * - `left`: the client left and the call was not read to its end
   * - `stopped`: the total deadline passed, the reply was too long, or the router shut down
   * - `cut`: the cost reached the hold, under `neverOverdraw`
   */
  readonly ended: 'finished' | 'broken' | 'left' | 'stopped' | 'cut'
  /** Whether the status 200 of a stream is sent, or would be if the client had stayed. */
  readonly streaming: boolean
  /** Whether a delta came with more than a role and empty strings. */
  readonly token: boolean
  /** Whether the provider gave a finish reason. */
  readonly finishReason: boolean
  /** Whether the provider reported its usage at or after the finish. */
  readonly reported: boolean
  /** Whether unreadable content came. A stream ends before it. A JSON reply is sent without it. */
  readonly unreadable: boolean
  /** Whether the report has both prompt and completion, so that nothing is estimated. */
  readonly complete: boolean
}

export interface Outcome {
  /**
   * - `nothing`: no charge, not even the fixed parts; the hold is released
   * - `reported`: the provider's counts
   * - `estimated`: our counts, since the provider finished without its own
   * - `partial`: the part that had arrived when the router ended the call
   */
  readonly due: 'nothing' | 'reported' | 'estimated' | 'partial'
  /** The reply for a client that is still connected: whole, cut off at its length limit, or an error. */
  readonly reply: 'whole' | 'length' | 'error'
}

const NOTHING_AND_ERROR: Outcome = { due: 'nothing', reply: 'error' }

/** The truth table of docs/charging.md. No other code decides what is due. */
export function outcome(end: CallEnd): Outcome {
  // The model was made to produce it, and the provider bills for it.
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
