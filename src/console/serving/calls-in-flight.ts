import type { OpenHold } from '../../admin/index.js'
import type { Credits } from '../../base/money.js'
import { present } from '../../base/present.js'
import type { CallFacts, CallInFlight } from '../../contracts/index.js'
import type { Context } from './endpoint.js'
import { accountOf } from './viewer.js'

export interface InFlightCall
  extends Partial<Pick<CallFacts, 'account' | 'model' | 'appId' | 'provider' | 'routeId' | 'sessionId'>> {
  readonly requestId: string
  /** Absent for calls of other processes. */
  readonly startedAt?: number
  /** The credits on hold. */
  readonly holdAmount?: Credits
  /** Whether the call runs in this process. If not, it runs in another one, or ran in one that has stopped. */
  readonly isHere: boolean
  /** When the hold is freed, if no process settles it before. Absent if `isHere`. */
  readonly freedAt?: number
}

/**
 * Returns the calls that a viewer may see, newest first: at most `limit` calls with a hold, and all calls of this process
 * without one. Holds come from every process. The routers add when each of their own calls started. With a hold's id, returns
 * only the call of that hold.
 */
export async function readCallsInFlight(
  { admin, routers, viewer }: Context,
  limit: number,
  holdId?: string,
): Promise<InFlightCall[]> {
  const account = accountOf(viewer, undefined)
  // Read before the holds too: a call that ends meanwhile would look like one of another process.
  const before = routers.calls()
  const holds = await admin.maintenance.openHolds(present({ limit, account, holdId }))
  const now = routers.calls()
  const here = new Map([...before, ...now].map((call) => [keyOf(call.facts?.account, call.requestId), call]))
  const held = new Set(holds.map(({ account, facts }) => keyOf(account, facts?.requestId)))
  const mayBeSeen = ({ facts }: CallInFlight) =>
    holdId === undefined && (account === undefined || facts?.account === account)
  return [
    ...holds.map((hold) => heldCall(hold, here.get(keyOf(hold.account, hold.facts?.requestId)))),
    ...now
      .filter((call) => mayBeSeen(call) && !held.has(keyOf(call.facts?.account, call.requestId)))
      .map(callWithoutHold),
  ].sort((one, other) => (other.startedAt ?? 0) - (one.startedAt ?? 0))
}

/** Clients may choose request ids, so calls of two accounts may share one. */
function keyOf(account: string | undefined, requestId: string | undefined): string {
  return JSON.stringify([account, requestId])
}

function heldCall(
  { holdId, account, amount, expiresAt, facts }: OpenHold,
  call?: CallInFlight,
): InFlightCall {
  const isHere = call !== undefined
  return {
    requestId: facts?.requestId ?? holdId,
    startedAt: call?.startedAt,
    account,
    model: facts?.model,
    appId: facts?.appId,
    provider: facts?.provider,
    routeId: facts?.routeId,
    sessionId: facts?.sessionId,
    holdAmount: amount,
    isHere,
    freedAt: isHere ? undefined : expiresAt,
  }
}

function callWithoutHold({ requestId, startedAt, facts }: CallInFlight): InFlightCall {
  const { account, model, appId, sessionId } = facts ?? {}
  return { requestId, startedAt, account, model, appId, sessionId, isHere: true }
}
