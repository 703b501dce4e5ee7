import { rangeOf } from '../base/format.js'
import type { Place } from '../base/place.js'
import type { FieldSpec } from '../parts/fields.js'

export interface CallsProps {
  readonly query: Place['query']
}

export const callSpec: FieldSpec = { name: 'call', label: 'Request id' }
export const referenceSpec: FieldSpec = { name: 'reference', label: 'Reference' }
export const entrySpec: FieldSpec = { name: 'entry', label: 'Entry id' }
export const idSpec: FieldSpec = { name: 'id', label: 'Call id' }
export const keySpec: FieldSpec = { name: 'key', label: 'Key id' }

/** Returns the ledger query for the filters in the address. */
export function questionOf({
  account,
  model,
  appId,
  key,
  call,
  sessionId,
  reference,
  entry,
  ...days
}: Place['query']) {
  return {
    account,
    model,
    appId,
    key,
    requestId: call,
    sessionId,
    reference,
    entryId: entry,
    ...rangeOf(days),
  }
}

/** Returns the ledger query for all entries, or for credits, corrections and refunds. */
export function entriesQuestionOf(query: Place['query'], isPayments: boolean) {
  return { ...questionOf(query), payments: isPayments ? ('true' as const) : undefined }
}

/** Returns the query of calls that ended, at any time. */
export function keptQuestionOf(query: Place['query'], isProblems: boolean) {
  const { sessionId: _, reference: __, entryId: ___, from: ____, to: _____, ...question } = questionOf(query)
  const { id, outcome, status } = query
  return { ...question, id, status, outcome, problems: isProblems ? ('true' as const) : undefined }
}
