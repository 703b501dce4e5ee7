import { expect, it } from 'vitest'
import type { RouteAttempt, RoutingExplanation } from '../../src/contracts/index.js'
import { Explanations } from '../../src/engine/events/explanations.js'

type Routing = Omit<RoutingExplanation, 'attempts'>

const usual = (more: Partial<Routing> = {}): Routing => ({
  considered: ['a', 'b'],
  excluded: [],
  chosenBy: 'price',
  ...more,
})
const completed = (routeId = 'a'): RouteAttempt[] => [{ routeId, outcome: 'completed' }]
const isFrozenDeep = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isFrozenDeep))

it('builds the usual explanation of each route once', () => {
  const explanations = new Explanations()
  const first = explanations.explain(usual(), completed())
  expect(first).toEqual({ ...usual(), attempts: completed() })
  expect(isFrozenDeep(first)).toBe(true)
  const other = explanations.explain(usual({ considered: ['b', 'a'] }), completed('b'))
  expect(explanations.explain(usual(), completed())).toBe(first)
  expect(explanations.explain(usual({ considered: ['b', 'a'] }), completed('b'))).toBe(other)
})

const whys: [string, Routing, RouteAttempt[]][] = [
  ['the order', usual({ considered: ['a', 'c'] }), completed()],
  ['the number of routes', usual({ considered: ['a'] }), completed()],
  ['one more at the end', usual({ considered: ['a', 'b', 'c'] }), completed()],
  ['the reason for the choice', usual({ chosenBy: 'pin' }), completed()],
  ['an excluded route', usual({ excluded: [{ routeId: 'c', why: 'disabled' }] }), completed()],
  ['a route in trouble', usual({ behind: [{ routeId: 'b', why: 'open' }] }), completed()],
  ['how it ended', usual(), [{ routeId: 'a', outcome: 'upstream_error' }]],
  ['why it failed', usual(), [{ routeId: 'a', outcome: 'completed', why: 'status 500' }]],
  ['an earlier attempt', usual(), [{ routeId: 'b', outcome: 'timeout' }, ...completed()]],
  ['the absence of attempts', usual(), []],
]

it.each(whys)('explains %s, and afterwards the usual again', (_, routing, attempts) => {
  const explanations = new Explanations()
  explanations.explain(usual(), completed())
  const told = explanations.explain(routing, attempts)
  expect(told).toEqual({ ...routing, attempts })
  expect(isFrozenDeep(told)).toBe(true)
  expect(explanations.explain(usual(), completed())).toEqual({ ...usual(), attempts: completed() })
  expect(explanations.explain(routing, structuredClone(attempts))).toEqual(told)
})

it('remembers a limited number of routes', () => {
  const explanations = new Explanations()
  const first = explanations.explain(usual(), completed())
  for (let route = 0; route < 1_000; route++) explanations.explain(usual(), completed(`r${route}`))
  const again = explanations.explain(usual(), completed())
  expect(again).toEqual(first)
  expect(again).not.toBe(first)
})
