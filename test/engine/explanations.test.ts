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

it('makes the usual explanation of each route once', () => {
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
  ['how many there were', usual({ considered: ['a'] }), completed()],
  ['one more at the end', usual({ considered: ['a', 'b', 'c'] }), completed()],
  ['by what it was chosen', usual({ chosenBy: 'pin' }), completed()],
  ['what was left out', usual({ excluded: [{ routeId: 'c', why: 'disabled' }] }), completed()],
  ['what was in trouble', usual({ behind: [{ routeId: 'b', why: 'open' }] }), completed()],
  ['how it ended', usual(), [{ routeId: 'a', outcome: 'upstream_error' }]],
  ['why it failed', usual(), [{ routeId: 'a', outcome: 'completed', why: 'status 500' }]],
  ['what was tried before', usual(), [{ routeId: 'b', outcome: 'timeout' }, ...completed()]],
  ['that nothing was tried', usual(), []],
]

it.each(whys)('tells %s, and after it the usual again', (_, routing, attempts) => {
  const explanations = new Explanations()
  explanations.explain(usual(), completed())
  const told = explanations.explain(routing, attempts)
  expect(told).toEqual({ ...routing, attempts })
  expect(isFrozenDeep(told)).toBe(true)
  expect(explanations.explain(usual(), completed())).toEqual({ ...usual(), attempts: completed() })
  expect(explanations.explain(routing, structuredClone(attempts))).toEqual(told)
})

it('does not remember routes without end', () => {
  const explanations = new Explanations()
  const first = explanations.explain(usual(), completed())
  for (let route = 0; route < 1_000; route++) explanations.explain(usual(), completed(`r${route}`))
  const again = explanations.explain(usual(), completed())
  expect(again).toEqual(first)
  expect(again).not.toBe(first)
})
