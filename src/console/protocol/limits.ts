/** A limit and the use of its present period. Amounts are credits, or numbers of requests or tokens, as decimal strings. */
export interface LimitView extends LimitBody {
  readonly used: string
  /** Credits or tokens of calls in flight. */
  readonly held: string
  /** At least 0. */
  readonly left: string
  /** The end of the present period. Absent for limits in total. */
  readonly endsAt?: number
}

export interface LimitBody {
  /** Unique. A stored limit with this id is replaced if it has the same owner. */
  readonly id: string
  readonly of: 'credential' | 'account' | 'app'
  /** The id of the credential, the account or the app. */
  readonly ownerId: string
  readonly unit: 'credits' | 'requests' | 'tokens'
  readonly amount: string
  readonly per: 'minute' | 'hour' | 'day' | 'month' | 'total'
  /** The time zone of days and months; UTC by default. */
  readonly zone?: string
}
