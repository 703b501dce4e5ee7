import type { CallQuery, KeptCall } from '../contracts/calls.js'

/** Whether a call did not complete, or completed without a charge. */
export function isProblem({ charge, outcome }: Pick<KeptCall, 'charge' | 'outcome'>): boolean {
  return outcome !== 'completed' || charge === undefined
}

/** The owner of a call's credential, if the credential is known. */
export function ownerOfCall({ caller, facts }: Pick<KeptCall, 'caller' | 'facts'>) {
  return facts ?? caller
}

/** Whether a call passes the filters of a query. */
export function matchesCall(call: Omit<KeptCall, 'id'>, query: CallQuery): boolean {
  const owner = ownerOfCall(call)
  return (
    (query.account === undefined || owner?.account === query.account) &&
    (query.credentialId === undefined || owner?.credentialId === query.credentialId) &&
    (query.appId === undefined || owner?.appId === query.appId) &&
    (query.model === undefined || (call.facts?.model ?? call.askedModel) === query.model) &&
    (query.requestId === undefined || call.requestId === query.requestId) &&
    (query.status === undefined || call.status === query.status) &&
    (query.outcome === undefined || call.outcome === query.outcome) &&
    (query.problems !== true || isProblem(call)) &&
    (query.from === undefined || call.at >= query.from) &&
    (query.to === undefined || call.at < query.to)
  )
}
