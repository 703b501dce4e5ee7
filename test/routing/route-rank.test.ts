import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Route } from '../../src/contracts/index.js'
import { rankByKey } from '../../src/engine/routing/route-rank.js'
import { choose, healthBook, ids, route, THREE_FAILURES } from './unit-routes.js'

/** By SHA-256 of account, session and route as a JSON list, computed independently of this code. */
const GOLDEN = ['bcda', 'dcba', 'dcab', 'bcad']

const SESSIONS = Array.from({ length: 2_000 }, (_, number) => `session-${number}`)

function firstOf(session: string, routes: readonly Route[]): string {
  return rankByKey(['alice', session], routes)[0]!.id
}

function shares(routes: readonly Route[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const session of SESSIONS) {
    const id = firstOf(session, routes)
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}

describe('the route of a session', () => {
  const routes = ['a', 'b', 'c', 'd'].map((id) => route(id))

  it('does not depend on the order of the routes', () => {
    for (const session of SESSIONS.slice(0, 200)) {
      expect(firstOf(session, [...routes].reverse())).toBe(firstOf(session, routes))
    }
  })

  it('is the same in another process', async () => {
    const script = `
      import { rankByKey } from ${JSON.stringify(fileURLToPath(new URL('../../src/engine/routing/route-rank.ts', import.meta.url)))}
      const routes = ['a', 'b', 'c', 'd'].map((id) => ({ id }))
      console.log(JSON.stringify(Array.from({ length: 50 }, (_, n) =>
        rankByKey(['alice', 'session-' + n], routes).map(({ id }) => id).join(''))))`
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--import=tsx',
      '--input-type=module',
      '--eval',
      script,
    ])
    const here = SESSIONS.slice(0, 50).map((session) =>
      rankByKey(['alice', session], routes)
        .map(({ id }) => id)
        .join(''),
    )
    expect(JSON.parse(stdout)).toEqual(here)
    // Later versions must agree too: a rolling deployment must not move sessions.
    expect(here.slice(0, 4)).toEqual(GOLDEN)
  })

  it('depends on the account too', () => {
    const moved = SESSIONS.filter(
      (session) => firstOf(session, routes) !== rankByKey(['bob', session], routes)[0]!.id,
    )
    expect(moved.length / SESSIONS.length).toBeGreaterThan(0.7)
    expect(moved.length / SESSIONS.length).toBeLessThan(0.8)
  })

  it('distinguishes an account and a session from others that read the same when joined', () => {
    const order = (key: string[]) =>
      rankByKey(
        key,
        Array.from({ length: 8 }, (_, number) => route(`r${number}`)),
      ).map(({ id }) => id)
    expect(order(['ab', 'c'])).not.toEqual(order(['a', 'bc']))
  })

  it('moves only if its own route disappears', () => {
    const without = routes.filter(({ id }) => id !== 'b')
    for (const session of SESSIONS) {
      const before = firstOf(session, routes)
      if (before !== 'b') expect(firstOf(session, without)).toBe(before)
    }
    expect([...shares(routes).values()].every((count) => count > 400 && count < 600)).toBe(true)
  })

  it('moves only for a route whose breaker is open, and moves back afterwards', () => {
    const { book, clock, tell } = healthBook()
    const routeOf = (session_id: string) => ids(choose(routes, { body: { session_id }, health: book }))[0]!
    const before = new Map(SESSIONS.slice(0, 400).map((session) => [session, routeOf(session)]))
    tell(routes[1]!, ...THREE_FAILURES)
    let moved = 0
    for (const [session, id] of before) {
      if (id === 'b') {
        expect(routeOf(session)).not.toBe('b')
        moved++
      } else {
        expect(routeOf(session)).toBe(id)
      }
    }
    expect(moved).toBeGreaterThan(50)
    clock.advance(5_000)
    for (const [session, id] of before) expect(routeOf(session)).toBe(id)
  })

  it('is named as the reason for the choice', () => {
    expect(choose(routes, { body: { session_id: 's' } }).explanation.chosenBy).toBe('affinity')
  })

  it('respects weights, and never has weight 0 while there is another', () => {
    const weighted = [route('a', { weight: 1 }), route('b', { weight: 3 }), route('c', { weight: 0 })]
    const counts = shares(weighted)
    expect(counts.get('c')).toBeUndefined()
    expect(counts.get('b')! / counts.get('a')!).toBeGreaterThan(2.5)
    expect(counts.get('b')! / counts.get('a')!).toBeLessThan(3.5)
    expect(rankByKey(['alice', 's'], weighted).at(-1)!.id).toBe('c')
    expect(shares(weighted.slice(2)).get('c')).toBe(SESSIONS.length)
  })

  it('changes for no session away from a route whose weight grows', () => {
    const grown = [route('a', { weight: 2 }), ...routes.slice(1)]
    for (const session of SESSIONS) {
      const after = firstOf(session, grown)
      if (after !== 'a') expect(after).toBe(firstOf(session, routes))
    }
  })
})
