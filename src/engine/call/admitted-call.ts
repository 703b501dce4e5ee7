import type { Model } from '../../contracts/catalogue.js'
import type { Secret } from '../../contracts/context.js'
import type { CallFacts } from '../../contracts/ledger.js'
import type { Route } from '../../contracts/providers.js'
import type { ParsedChatRequest } from '../../protocol/chat-request.js'
import type { Caller } from '../admission/authenticate.js'
import type { CallLog } from '../events/call-log.js'

/** A call that has been let in. */
export interface AdmittedCall {
  readonly requestId: string
  readonly caller: Caller
  readonly model: Model
  readonly request: ParsedChatRequest
  readonly facts: CallFacts
  /** In the order in which they are to be tried. */
  readonly routes: readonly Route[]
  /** The caller's own provider key. */
  readonly providerKey: Secret | undefined
  readonly log: CallLog
  /** The digest of the call's `Idempotency-Key`. */
  readonly claim: string | undefined
}
