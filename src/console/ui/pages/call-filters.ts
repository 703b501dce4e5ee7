import { DAY_MS, dayStart } from '../base/format.js'
import type { Place } from '../base/place.js'
import type { FieldSpec } from '../parts/fields.js'

export interface CallsProps {
  readonly query: Place['query']
}

export const callSpec: FieldSpec = { name: 'call', label: 'Request id' }
export const keySpec: FieldSpec = { name: 'key', label: 'Key id' }

/** Returns the query of the ledger for the filters in the address. */
export function questionOf({ account, model, appId, key, call, sessionId, fromDay, toDay }: Place['query']) {
  const [from, to] = [dayStart(fromDay), dayStart(toDay)]
  return {
    ...(account ? { account } : {}),
    ...(model ? { model } : {}),
    ...(appId ? { appId } : {}),
    ...(key ? { key } : {}),
    ...(call ? { requestId: call } : {}),
    ...(sessionId ? { sessionId } : {}),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to: to + DAY_MS }),
  }
}

/** Returns the query of calls that ended. */
export function keptQuestionOf(query: Place['query'], isProblems: boolean) {
  const { sessionId: _, ...question } = questionOf(query)
  const { outcome, status } = query
  return {
    ...question,
    ...(status ? { status } : {}),
    ...(outcome ? { outcome } : {}),
    ...(isProblems ? { problems: true } : {}),
  }
}
