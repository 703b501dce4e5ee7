import type { Principal } from '../contracts/credentials.js'
import type { CallFacts } from '../contracts/ledger.js'
import type { Route } from '../contracts/providers.js'
import type { ParsedChatRequest } from '../protocol/chat-request.js'
import { cleanLabel, escapeControl } from '../protocol/text.js'

interface FactsOf {
  readonly requestId: string
  readonly caller: { readonly principal: Principal }
  readonly model: { readonly id: string }
  readonly request: ParsedChatRequest
}

/** What the ledger and the events record of a call, every string of the client's cleaned. */
export function callFacts(call: FactsOf, route?: Route, completionId?: string): CallFacts {
  const { principal } = call.caller
  const { forward, own } = call.request
  return Object.freeze({
    requestId: call.requestId,
    account: principal.account,
    credentialId: principal.credentialId,
    model: call.model.id,
    ...(principal.kind === 'access-token' && { appId: principal.app.id }),
    ...(principal.kind === 'api-key' && own.appId !== undefined && { claimedAppId: own.appId }),
    ...(own.sessionId !== undefined && { sessionId: escapeControl(own.sessionId) }),
    ...(typeof forward.user === 'string' && { user: cleanLabel(forward.user) }),
    ...(route !== undefined && { provider: route.provider, routeId: route.id }),
    ...(completionId !== undefined && { completionId }),
  })
}
