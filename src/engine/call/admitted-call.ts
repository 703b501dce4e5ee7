import type { Model } from '../../contracts/catalogue.js'
import type { Secret } from '../../contracts/context.js'
import type { CallFacts } from '../../contracts/ledger.js'
import type { Asked, Operation, Plan } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import type { Caller } from '../admission/authenticate.js'
import type { CallLog } from '../events/call-log.js'

/** A request that was let in. */
export interface AcceptedRequest {
  readonly requestId: string
  readonly operation: Operation
  readonly caller: Caller
  readonly model: Model
  readonly asked: Asked
  readonly facts: CallFacts
  readonly log: CallLog
}

/** The same with everything that a call needs. */
export interface AdmittedCall extends AcceptedRequest {
  readonly plan: Plan
  /** In the order in which they are to be tried. */
  readonly routes: readonly Route[]
  /** The caller's own provider key. */
  readonly providerKey: Secret | undefined
  /** The digest of the call's `Idempotency-Key`. */
  readonly claim: string | undefined
}
