import type { OpenHold } from '../../admin/index.js'
import { formatCredits } from '../../base/money.js'
import type { CallInFlight } from '../../contracts/index.js'
import type { InFlightCall } from '../protocol/index.js'
import type { Services } from './endpoint.js'
import { accountOf, type ConsoleViewer } from './viewer.js'
import { present } from './views.js'

/**
 * Returns the calls that a viewer may see, newest first: at most `limit` calls with a hold, and all calls of this process
 * without one. Holds come from every process. The routers add when each of their own calls started.
 */
export async function readCallsInFlight(
  viewer: ConsoleViewer,
  { admin, routers }: Services,
  limit: number,
): Promise<InFlightCall[]> {
  const account = accountOf(viewer, undefined)
  // Read before the holds too: a call that ends meanwhile would look like one of another process.
  const before = routers.calls()
  const holds = await admin.openHolds({ limit, ...(account === undefined ? {} : { account }) })
  const now = routers.calls()
  const here = new Map([...before, ...now].map((call) => [keyOf(call.facts?.account, call.requestId), call]))
  const held = new Set(holds.map(({ account, facts }) => keyOf(account, facts?.requestId)))
  const mayBeSeen = ({ facts }: CallInFlight) => account === undefined || facts?.account === account
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
  return present({
    requestId: facts?.requestId ?? holdId,
    startedAt: call?.startedAt,
    account,
    model: facts?.model,
    appId: facts?.appId,
    provider: facts?.provider,
    routeId: facts?.routeId,
    sessionId: facts?.sessionId,
    holdAmount: formatCredits(amount),
    isHere,
    freedAt: isHere ? undefined : expiresAt,
  })
}

function callWithoutHold({ requestId, startedAt, facts }: CallInFlight): InFlightCall {
  return present({
    requestId,
    startedAt,
    account: facts?.account,
    model: facts?.model,
    appId: facts?.appId,
    sessionId: facts?.sessionId,
    isHere: true,
  })
}
