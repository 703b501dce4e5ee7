import type { CallMemory } from '../../base/memory-budget.js'
import type { Mutable } from '../../base/mutable.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Secret } from '../../contracts/context.js'
import type { Principal } from '../../contracts/credentials.js'
import type { CallFacts } from '../../contracts/ledger.js'
import type { Asked, Operation, Plan, RoutedCall } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import { cleanLabel, escapeControl } from '../../protocol/text.js'
import type { Caller } from '../admission/authenticate.js'
import type { HeldRequest } from '../admission/held-request.js'
import type { CallLog } from '../events/call-log.js'

/** An admitted request, with everything that a call needs. */
export interface AdmittedCall {
  readonly requestId: string
  readonly operation: Operation
  readonly caller: Caller
  readonly model: Model
  readonly request: HeldRequest
  /** Whether the client asked for a stream. */
  readonly stream: boolean
  /** The names of the parameters that need the host's permission. */
  readonly unlisted: readonly string[]
  readonly memory: CallMemory
  readonly facts: CallFacts
  readonly log: CallLog
  /** Whether the call costs at most its hold, because of the option of this name or because its caller has a budget. */
  readonly neverOverdraw: boolean
  readonly plan: Plan
  /** In the order in which to try them. */
  readonly routes: readonly Route[]
  /** How each of the routes takes the request. */
  readonly calls: ReadonlyMap<Route, RoutedCall>
  /** The caller's own provider key. */
  readonly providerKey: Secret | undefined
  /** The digest of the call's `Idempotency-Key`. */
  readonly claim: string | undefined
}

/** Returns the facts of a call for the ledger and the events. Strings from the client are cleaned. */
export function callFacts(
  requestId: string,
  principal: Principal,
  model: string,
  { own, user }: Asked,
): CallFacts {
  const { account, credentialId } = principal
  const facts: Mutable<CallFacts> = { requestId, account, credentialId, model }
  if (principal.kind === 'access-token') facts.appId = principal.app.id
  else if (own.appId !== undefined) facts.claimedAppId = own.appId
  if (own.sessionId !== undefined) facts.sessionId = escapeControl(own.sessionId)
  if (user !== undefined) facts.user = cleanLabel(user)
  return facts
}

/**
 * Returns the facts of a call with the route that serves it and the `id` of its reply, frozen, so that nobody needs a
 * copy.
 */
export function routeFacts(call: CallFacts, { id, provider }: Route, completionId: string): CallFacts {
  const { requestId, account, credentialId, model, appId, claimedAppId, sessionId, user } = call
  // Written out, since every call runs this and a spread costs microseconds.
  const facts: Mutable<CallFacts> = {
    requestId,
    account,
    credentialId,
    model,
    provider,
    routeId: id,
    completionId,
  }
  if (appId !== undefined) facts.appId = appId
  if (claimedAppId !== undefined) facts.claimedAppId = claimedAppId
  if (sessionId !== undefined) facts.sessionId = sessionId
  if (user !== undefined) facts.user = user
  return Object.freeze(facts)
}
