import type { RouteAttempt, RoutingExplanation } from '../../contracts/events.js'

/** How routes were chosen, before any was tried. */
export type RoutingDecision = Omit<RoutingExplanation, 'attempts'>

/** The most routes for which an explanation is remembered. */
const MOST_ROUTES = 1_000
/** With more routes, calls are seldom alike, and a comparison takes longer. */
const MOST_CONSIDERED = 8

/**
 * Explains routing decisions. Calls that went alike on their first route share one explanation: the store of calls would
 * otherwise keep four objects more of each call, through many garbage collections.
 */
export class Explanations {
  /** The latest one of each route that served a call at once. */
  private readonly usual = new Map<string, RoutingExplanation>()

  /** Returns an explanation, deeply frozen. */
  of(decision: RoutingDecision, attempts: readonly RouteAttempt[]): RoutingExplanation {
    const [first] = attempts
    const isUsual =
      first !== undefined &&
      first.why === undefined &&
      attempts.length === 1 &&
      decision.behind === undefined &&
      decision.excluded.length === 0 &&
      decision.considered.length <= MOST_CONSIDERED
    if (!isUsual) return explain(decision, attempts)
    const known = this.usual.get(first.routeId)
    if (known !== undefined && known.attempts[0]!.outcome === first.outcome && isSame(known, decision))
      return known
    const made = explain(decision, attempts)
    if (this.usual.size >= MOST_ROUTES) this.usual.clear()
    this.usual.set(first.routeId, made)
    return made
  }
}

function isSame(known: RoutingDecision, { chosenBy, considered }: RoutingDecision): boolean {
  return (
    known.chosenBy === chosenBy &&
    known.considered.length === considered.length &&
    known.considered.every((id, index) => id === considered[index])
  )
}

function explain(
  { behind, chosenBy, considered, excluded }: RoutingDecision,
  attempts: readonly RouteAttempt[],
): RoutingExplanation {
  Object.freeze(considered)
  freezeList(excluded)
  freezeList(attempts)
  if (behind === undefined) return Object.freeze({ considered, excluded, chosenBy, attempts })
  freezeList(behind)
  return Object.freeze({ considered, excluded, behind, chosenBy, attempts })
}

function freezeList(list: readonly object[]): void {
  Object.freeze(list)
  for (const item of list) Object.freeze(item)
}
