import type { CallFacts } from '../contracts/index.js'

const FACTS = [
  'requestId',
  'account',
  'credentialId',
  'model',
  'appId',
  'claimedAppId',
  'sessionId',
  'user',
  'provider',
  'routeId',
  'completionId',
] as const satisfies readonly (keyof CallFacts)[]

/** The facts of a call without their names. What is undefined is null once it has been JSON. */
export type FactCells = readonly (string | null | undefined)[]

/** A copy. Written out: every call passes here, and to look fields up by name would cost a microsecond. */
export function factCells(facts: CallFacts): FactCells {
  return [
    facts.requestId,
    facts.account,
    facts.credentialId,
    facts.model,
    facts.appId,
    facts.claimedAppId,
    facts.sessionId,
    facts.user,
    facts.provider,
    facts.routeId,
    facts.completionId,
  ]
}

export function readFacts(cells: FactCells): CallFacts {
  const present = FACTS.flatMap((name, index) => {
    const cell = cells[index]
    return cell === undefined || cell === null ? [] : [[name, cell]]
  })
  return Object.fromEntries(present)
}
