import { describe, expect, it } from 'vitest'
import type { RouteAttempt } from '../../src/contracts/events.js'
import { Explanations, type RoutingDecision } from '../../src/engine/events/explanations.js'

function decided(change: Partial<RoutingDecision> = {}): RoutingDecision {
  return { considered: ['a', 'b'], excluded: [], chosenBy: 'price', ...change }
}

function tried(change: Partial<RouteAttempt> = {}): RouteAttempt[] {
  return [{ routeId: 'a', outcome: 'finished', ...change }]
}

describe('Explanations', () => {
  it('gives calls that went alike on their first route the same explanation', () => {
    const explanations = new Explanations()
    const first = explanations.of(decided(), tried())
    expect(first).toEqual({ ...decided(), attempts: tried() })
    expect(explanations.of(decided(), tried())).toBe(first)
    expect(explanations.of(decided({ considered: ['b', 'a'] }), tried({ routeId: 'b' }))).not.toBe(first)
    expect(explanations.of(decided(), tried())).toBe(first)
  })

  it.each<[string, RoutingDecision, RouteAttempt[]]>([
    ['considered other routes', decided({ considered: ['a'] }), tried()],
    ['considered the routes in another order', decided({ considered: ['b', 'a'] }), tried()],
    ['excluded a route', decided({ excluded: [{ routeId: 'c', why: 'disabled' }] }), tried()],
    ['moved a failing route behind', decided({ behind: [{ routeId: 'b', why: 'failing' }] }), tried()],
    ['chose by weight', decided({ chosenBy: 'weight' }), tried()],
    ['ended otherwise', decided(), tried({ outcome: 'left' })],
    ['has a reason', decided(), tried({ why: 'unreadable' })],
    ['tried two routes', decided(), [...tried({ outcome: 'upstream_error' }), ...tried({ routeId: 'b' })]],
    ['tried none', decided(), []],
  ])('explains a call of its own that %s', (_what, decision, attempts) => {
    const explanations = new Explanations()
    const usual = explanations.of(decided(), tried())
    const other = explanations.of(decision, attempts)
    expect(other).not.toBe(usual)
    expect(other).toEqual({ ...decision, attempts })
    for (const part of [
      other,
      other.considered,
      other.excluded,
      other.attempts,
      ...other.excluded,
      ...other.attempts,
    ])
      expect(Object.isFrozen(part)).toBe(true)
  })
})
