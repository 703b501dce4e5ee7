import type { CallMemory } from '../../base/memory-budget.js'
import type { Mutable } from '../../base/mutable.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Secret } from '../../contracts/context.js'
import type { Principal } from '../../contracts/credentials.js'
import type { CallFacts } from '../../contracts/ledger.js'
import type { Asked, Operation, Plan } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import { cleanLabel, escapeControl } from '../../protocol/text.js'
import type { Caller } from '../admission/authenticate.js'
import type { CallLog } from '../events/call-log.js'

/** A request, until no further route gets it. Besides its plan, only this refers to it once the call has begun. */
export class HeldRequest {
  private held: Asked | undefined

  constructor(asked: Asked) {
    this.held = asked
  }

  get asked(): Asked {
    if (this.held === undefined) throw new Error('The request was forgotten.')
    return this.held
  }

  forget(): void {
    this.held = undefined
  }
}

/** A request that was let in, with everything that a call needs. */
export interface AdmittedCall {
  readonly requestId: string
  readonly operation: Operation
  readonly caller: Caller
  readonly model: Model
  readonly request: HeldRequest
  /** Whether the client asked for a stream. */
  readonly stream: boolean
  /** The names of the parameters that only the host has allowed. */
  readonly unlisted: readonly string[]
  readonly memory: CallMemory
  readonly facts: CallFacts
  readonly log: CallLog
  /** Whether the call costs at most its hold: by the option of this name, or because its caller has a budget. */
  readonly neverOverdraw: boolean
  readonly plan: Plan
  /** In the order in which they are to be tried. */
  readonly routes: readonly Route[]
  /** The caller's own provider key. */
  readonly providerKey: Secret | undefined
  /** The digest of the call's `Idempotency-Key`. */
  readonly claim: string | undefined
}

/** The facts of a call for the ledger and the events. Strings from the client are cleaned. */
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

/** The same with the route that serves the call, and the `id` of its reply. */
export function routeFacts(call: CallFacts, { id, provider }: Route, completionId: string): CallFacts {
  const { requestId, account, credentialId, model, appId, claimedAppId, sessionId, user } = call
  // Written out, since every call passes here and a spread costs microseconds.
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
  return facts
}
