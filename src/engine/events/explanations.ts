import type { RouteAttempt, RoutingExplanation } from '../../contracts/events.js'

const MAX_KNOWN = 1_000

/**
 * Explains the routes of calls. The usual explanation of a route, that it was the first choice and served the call, is
 * made and frozen once. For each call, that would take as long as the rest of the event.
 */
export class Explanations {
  /** By the route that was tried. */
  private readonly usual = new Map<string, RoutingExplanation>()

  /** Frozen with all that it holds. */
  explain(
    routing: Omit<RoutingExplanation, 'attempts'>,
    attempts: readonly RouteAttempt[],
  ): RoutingExplanation {
    if (attempts.length !== 1 || routing.excluded.length > 0 || routing.behind !== undefined) {
      return makeExplanation(routing, attempts)
    }
    const attempt = attempts[0]!
    const known = this.usual.get(attempt.routeId)
    if (known !== undefined && isAlike(known, routing, attempt)) return known
    const explanation = makeExplanation(routing, attempts)
    if (attempt.why === undefined) this.keep(attempt.routeId, explanation)
    return explanation
  }

  private keep(routeId: string, explanation: RoutingExplanation): void {
    // A host may make up routes without end.
    if (this.usual.size >= MAX_KNOWN) this.usual.clear()
    this.usual.set(routeId, explanation)
  }
}

function isAlike(
  known: RoutingExplanation,
  { chosenBy, considered }: Omit<RoutingExplanation, 'attempts'>,
  { outcome, why }: RouteAttempt,
): boolean {
  if (why !== undefined || outcome !== known.attempts[0]!.outcome || chosenBy !== known.chosenBy) return false
  if (considered.length !== known.considered.length) return false
  for (let place = 0; place < considered.length; place++) {
    if (considered[place] !== known.considered[place]) return false
  }
  return true
}

function makeExplanation(
  { behind, chosenBy, considered, excluded }: Omit<RoutingExplanation, 'attempts'>,
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
  for (let place = 0; place < list.length; place++) Object.freeze(list[place])
}
