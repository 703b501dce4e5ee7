import type { CallerView, ChargeView, ExplanationView, FactsView } from './ledger.js'

export interface KeptCallsQuery {
  /** For a user only its own account, which is the default. */
  readonly account?: string
  readonly appId?: string
  /** The model of the call, or the one that was asked for. */
  readonly model?: string
  /** A credential's id. */
  readonly key?: string
  /** A client may have used the same one for several calls. */
  readonly requestId?: string
  /** The HTTP status. */
  readonly status?: string
  /** `completed`, `client-left` or an error code. */
  readonly outcome?: string
  /** Only calls that did not complete, or that completed without a charge. */
  readonly problems?: boolean
  readonly from?: number
  readonly to?: number
  /** `next` of the previous page. */
  readonly after?: string
  /** From 1 to 200; 50 by default. */
  readonly limit?: number
}

/**
 * How calls ended, newest first: those that the database keeps, of all processes. The first page also contains the calls
 * that only this process remembers, and may then be longer than its limit.
 */
export interface KeptCallsReply {
  readonly calls: readonly KeptCallView[]
  readonly next?: string
}

export interface KeptCallView {
  /** Unique in a reply. */
  readonly key: string
  /** The time of its end. */
  readonly at: number
  readonly requestId: string
  readonly operation: string
  readonly account?: string
  readonly facts?: FactsView
  /** The owner of the credential, if the request was refused before its model was found. */
  readonly caller?: CallerView
  /** The model that was asked for, if it was not found. */
  readonly askedModel?: string
  /** The field of the request that caused its refusal. */
  readonly field?: string
  readonly charge?: ChargeView
  readonly explanation: ExplanationView
}
