import type { RequestEnd } from './events.js'

/**
 * Keeps how requests ended, so that somebody can look up later why a call failed or what it cost. No balance depends on
 * it. A router records every charged operation, and every other request that was refused or failed.
 */
export interface CallStore {
  /**
   * Keeps a call. Returns at once and never throws: a store that cannot keep up drops calls, counts them and reports them
   * to `watchDropped`.
   */
  record(call: KeptCall): void
  /**
   * Returns the call with this id. If there is none, returns the newest one with this request id. With an account,
   * finds only that account's calls. Finds a call as soon as this process has recorded it.
   */
  find(account: string | undefined, id: string): Promise<KeptCall | undefined>
  /**
   * Returns calls of all processes, newest first. Very recent calls may be missing. Pass `next` as `after` to get the
   * following page.
   */
  list(query?: CallQuery): Promise<CallPage>
  /** Calls the listener for calls that were dropped since its last call. Returns a function that ends the watch. */
  watchDropped?(listener: (dropped: DroppedCalls) => void): () => void
}

/** How a request ended. Plain data, frozen when a router records it. Contains no prompt, reply, token or key. */
export interface KeptCall extends Omit<RequestEnd, 'type' | 'action' | 'connected'> {
  /** Unique. The `id` of the reply if a route was tried, otherwise an id that the router has created. */
  readonly id: string
  /** The model that the client asked for, if there are no `facts`. At most 256 characters. */
  readonly askedModel?: string
  /** The field of the request that caused its refusal, as `param` of the error. At most 256 characters. */
  readonly field?: string
}

export interface CallQuery {
  /** The account of the credential. */
  readonly account?: string
  readonly credentialId?: string
  readonly appId?: string
  /** The model of the call, or the one that was requested. */
  readonly model?: string
  /** Clients can choose it, so several calls may have the same one. */
  readonly requestId?: string
  /** The HTTP status of the reply. */
  readonly status?: number
  /** `completed`, `client-left` or an error code. */
  readonly outcome?: string
  /** Selects only calls that did not complete, or that completed without a charge. */
  readonly problems?: boolean
  /** The end of the call in milliseconds since the Unix epoch, inclusive. */
  readonly from?: number
  /** The end of the call in milliseconds since the Unix epoch, exclusive. */
  readonly to?: number
  readonly after?: string
  /** From 1 to 1,000; 100 by default. */
  readonly limit?: number
}

export interface CallPage {
  readonly calls: readonly KeptCall[]
  readonly next?: string
}

export interface DroppedCalls {
  readonly count: number
  /** The latest error of the store, if it has failed. */
  readonly error?: unknown
}
