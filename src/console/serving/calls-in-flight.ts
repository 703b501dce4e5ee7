import type { OpenHold } from '../../admin/index.js'
import { formatCredits } from '../../base/money.js'
import type { CallInFlight } from '../../contracts/index.js'
import type { InFlightCall } from '../protocol/index.js'
import type { Services } from './endpoint.js'
import { accountOf, type ConsoleViewer } from './viewer.js'
import { present } from './views.js'

/**
 * The calls that a viewer may see, newest first; of those that hold credit at least as many as are asked for, where there
 * are. Holds tell of every process's calls and of their credit, routers when each of theirs came in, and of calls that
 * hold none.
 */
export async function readCallsInFlight(
  viewer: ConsoleViewer,
  { admin, routers }: Services,
  limit: number,
): Promise<InFlightCall[]> {
  const account = accountOf(viewer, undefined)
  // Also before the holds are read: a call that ends meanwhile would be taken for one of another process.
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

/** Request ids may be clients' own, so that calls of two accounts may share one. */
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
