import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ConsoleViewer } from '../../src/console/index.js'
import type { ReplyOf } from '../../src/console/protocol.js'
import { readCallsInFlight } from '../../src/console/serving/calls-in-flight.js'
import type { Context } from '../../src/console/serving/endpoint.js'
import { ObservedRouters } from '../../src/console/serving/observed-routers.js'
import { memoryLedger } from '../../src/index.js'
import { createDeferred } from '../helpers/deferred.js'
import { alice, type Bench, bob, furnish, operator, startBench } from './console-bench.js'

let bench: Bench
let alicesKey: string
let bobsKey: string

beforeAll(async () => {
  bench = await startBench()
  ;({ alice: alicesKey, bob: bobsKey } = await furnish(bench))
})

afterAll(() => bench.close())

describe('a call in flight, in the console,', () => {
  const credential = {
    ok: true,
    principal: { kind: 'api-key', account: 'alice', credentialId: 'k' },
  } as const

  /** Starts a bench whose ledger or credentials answer only when they are released. */
  async function startSlow(what: 'credentials' | 'ledger') {
    const asked = createDeferred<void>()
    const answer = createDeferred<void>()
    const slow = await startBench({
      router: {
        ...(what === 'credentials' && {
          credentials: {
            async resolve() {
              asked.resolve()
              await answer.promise
              return credential
            },
          },
        }),
        ...(what === 'ledger' && {
          credentials: { resolve: () => credential },
          ledger: {
            ...memoryLedger(),
            async hold() {
              asked.resolve()
              await answer.promise
              return { ok: false, reason: 'insufficient', posted: 0n, available: 0n }
            },
          },
        }),
      },
    })
    await furnish(slow)
    const calling = slow.call('sk-alice', { session_id: 's1' }, { 'x-request-id': 'mine' })
    await asked.promise
    const inFlight = async (viewer: ConsoleViewer) =>
      (await slow.as(viewer).get<ReplyOf<'live'>>('api/live')).json.inFlight
    return { slow, answer, calling, inFlight }
  }

  it('whose credential is not known yet is shown only to an operator', async () => {
    const { slow, answer, calling, inFlight } = await startSlow('credentials')
    try {
      expect(await inFlight(operator)).toEqual([
        { requestId: 'mine', startedAt: expect.any(Number), isHere: true },
      ])
      expect(await inFlight(alice)).toEqual([])
      answer.resolve()
      await calling
    } finally {
      await slow.close()
    }
  })

  it('that has no hold yet is shown to its account', async () => {
    const { slow, answer, calling, inFlight } = await startSlow('ledger')
    try {
      const call = {
        requestId: 'mine',
        startedAt: expect.any(Number),
        account: 'alice',
        model: 'acme/fast',
        sessionId: 's1',
        isHere: true,
      }
      expect(await inFlight(operator)).toEqual([call])
      expect(await inFlight(alice)).toEqual([call])
      expect(await inFlight(bob)).toEqual([])
      answer.resolve()
      await calling
    } finally {
      await slow.close()
    }
  })

  it("is distinguished from another account's call with the same id", async () => {
    const sameId = { 'x-request-id': 'shared' }
    const release = bench.holdUp()
    const calling = [bench.call(alicesKey, {}, sameId), bench.call(bobsKey, {}, sameId)]
    const inFlight = async (viewer: ConsoleViewer) =>
      (await bench.as(viewer).get<ReplyOf<'live'>>('api/live')).json.inFlight.filter(
        ({ requestId, holdAmount }) => requestId === 'shared' && holdAmount !== undefined,
      )
    await expect.poll(() => inFlight(operator)).toHaveLength(2)
    const shown = await inFlight(operator)
    expect(shown.map(({ account }) => account).toSorted()).toEqual(['alice', 'bob'])
    expect(shown.map(({ isHere }) => isHere)).toEqual([true, true])
    expect(await inFlight(bob)).toMatchObject([{ account: 'bob', isHere: true }])
    release()
    await Promise.all(calling)
  })

  it('that ends while the ledger is read is not mistaken for a call of another process', async () => {
    let isRunning = true
    const facts = { requestId: 'ending', account: 'alice', credentialId: 'k', model: 'acme/fast' }
    const admin = {
      ...bench.admin,
      async openHolds() {
        isRunning = false
        return [{ holdId: 'h', account: 'alice', amount: 1n, expiresAt: 2, facts }]
      },
    }
    const routers = new ObservedRouters()
    routers.observe({
      calls: () => (isRunning ? [{ requestId: 'ending', startedAt: 1, facts }] : []),
      routes: () => [],
    })
    const calls = await readCallsInFlight({ viewer: operator, admin, routers } as unknown as Context, 10)
    expect(calls).toMatchObject([{ requestId: 'ending', isHere: true, startedAt: 1 }])
  })

  it('is shown once if two routers share it, and so is a route, in its worst state', () => {
    const routers = new ObservedRouters()
    const health = { routeId: 'r', provider: 'p', failureRate: 0.2 }
    const router = {
      calls: () => [{ requestId: 'one', startedAt: 1 }],
      routes: () => [{ ...health, state: 'closed' as const }],
    }
    const ends = [routers.observe(router), routers.observe(router)]
    routers.observe({ calls: () => [], routes: () => [{ ...health, state: 'open' }] })
    routers.observe({ calls: () => [], routes: () => [{ ...health, state: 'open', failureRate: 0.1 }] })
    expect(routers.calls()).toHaveLength(1)
    expect(routers.routes()).toEqual([{ ...health, state: 'open' }])
    const misconfigured = { ...health, state: 'misconfigured' as const, flaw: 'key' as const, failureRate: 0 }
    const end = routers.observe({ calls: () => [], routes: () => [misconfigured] })
    expect(routers.routes()).toEqual([misconfigured])
    end()
    expect(routers.routes()).toEqual([{ ...health, state: 'open' }])
    ends[0]!()
    expect(routers.calls()).toHaveLength(1)
    ends[1]!()
    expect(routers.calls()).toEqual([])
  })

  it('is no longer shown once the console has stopped observing its router', async () => {
    const end = bench.pages.observe({
      calls: () => [{ requestId: 'of another router', startedAt: 1 }],
      routes: () => [{ routeId: 'another', provider: 'p', state: 'closed', failureRate: 0 }],
    })
    const live = async () => (await bench.as(operator).get<ReplyOf<'live'>>('api/live')).json
    const { inFlight, routes } = await live()
    expect(inFlight.map(({ requestId }) => requestId)).toContain('of another router')
    expect(routes[0]).toMatchObject({ routeId: 'another' })
    end()
    const after = await live()
    expect(after.inFlight.map(({ requestId }) => requestId)).not.toContain('of another router')
    expect(after.routes.map(({ routeId }) => routeId)).not.toContain('another')
  })
})
