import { describe, expect, it } from 'vitest'
import { type CallsOverTimeQuery, createAdmin } from '../../src/admin/index.js'
import type { KeptCall } from '../../src/contracts/index.js'
import { isProblem } from '../../src/rules/kept-calls.js'
import { engineNames, useEngine } from '../helpers/engines.js'
import { createCharge, createFacts } from '../helpers/ledger-requests.js'
import { createRandom } from '../helpers/random.js'

const MINUTE_MS = 60_000
const COUNT = 300

/** Calls of the last hour, of all kinds. */
function randomCalls(now: number): readonly KeptCall[] {
  const random = createRandom(9)
  const one = <Item>(items: readonly Item[]): Item => items[random(items.length)]!
  return Array.from({ length: COUNT }, (_, place) => {
    const outcome = one(['completed', 'completed', 'provider_error', 'rate_limited', 'client-left'])
    const provider = one(['north', 'south', undefined])
    const appId = one(['notes', undefined])
    const facts = createFacts(one(['alice', 'bob']), {
      requestId: `r${place}`,
      credentialId: `key-${random(12)}`,
      model: one(['fast', 'smart']),
      ...(provider !== undefined && { provider }),
      ...(appId !== undefined && { appId }),
    })
    return {
      id: `c${place}`,
      requestId: `r${place}`,
      operation: 'chat',
      at: now - random(60 * MINUTE_MS),
      durationMs: random(9_000) + 0.25,
      outcome,
      status: outcome === 'completed' ? 200 : 502,
      ...(random(9) === 0 ? { caller: { account: facts.account, credentialId: 'key-0' } } : { facts }),
      ...(outcome === 'completed' && random(5) > 0 && { charge: createCharge(5n) }),
      ...(random(3) > 0 && { firstTokenMs: random(2_000) }),
    }
  })
}

type By = NonNullable<CallsOverTimeQuery['by']>
const KEYS: Readonly<Record<By, (call: KeptCall) => string | undefined>> = {
  outcome: ({ outcome }) => outcome,
  model: ({ facts }) => facts?.model,
  app: ({ facts }) => facts?.appId,
  key: ({ facts, caller }) => (facts ?? caller)?.credentialId,
  account: ({ facts, caller }) => (facts ?? caller)?.account,
  provider: ({ facts }) => facts?.provider,
}

/** Counted here, call by call. */
function stepOf(calls: readonly KeptCall[]) {
  const quantiles = (values: readonly number[]) => {
    const sorted = values.map(Math.round).sort((one, other) => one - other)
    const at = (part: number) => sorted[Math.ceil(sorted.length * part) - 1]!
    return sorted.length === 0 ? undefined : { median: at(0.5), slow: at(0.95) }
  }
  const firstTokenMs = quantiles(calls.flatMap(({ firstTokenMs }) => firstTokenMs ?? []))
  return {
    calls: calls.length,
    failures: calls.filter(isProblem).length,
    durationMs: quantiles(calls.map(({ durationMs }) => durationMs)),
    ...(firstTokenMs !== undefined && { firstTokenMs }),
  }
}

describe.each(engineNames)('kept calls over time in %s', (name) => {
  const engine = useEngine(name)

  it('are counted in steps and groups, with their latency', { timeout: 60_000 }, async () => {
    const stores = engine.open('over-time')
    const { calls: admin } = createAdmin(stores)
    const now = Date.now()
    const calls = randomCalls(now)
    for (const call of calls) stores.calls.record(call)
    await expect.poll(async () => (await admin.list({ limit: 1_000 })).calls.length).toBe(COUNT)
    const times = Array.from({ length: 11 }, (_, step) => now - 50 * MINUTE_MS + step * 5 * MINUTE_MS + 1)
    const queries: readonly Omit<CallsOverTimeQuery, 'times'>[] = [
      {},
      { problems: true },
      { outcome: 'provider_error' },
      { account: 'alice', model: 'fast' },
    ]
    for (const query of queries) {
      const isMeant = (call: KeptCall): boolean =>
        (query.problems !== true || isProblem(call)) &&
        (query.outcome === undefined || call.outcome === query.outcome) &&
        (query.account === undefined || KEYS.account(call) === query.account) &&
        (query.model === undefined || KEYS.model(call) === query.model)
      const meant = calls.filter((call) => call.at >= times[0]! && call.at < times.at(-1)! && isMeant(call))
      const within = (step: number) => meant.filter(({ at }) => at >= times[step]! && at < times[step + 1]!)
      for (const by of [undefined, ...(Object.keys(KEYS) as By[])]) {
        const found = await admin.overTime({
          ...query,
          times,
          withLatency: true,
          ...(by !== undefined && { by }),
        })
        expect(found).toMatchObject({ calls: meant.length, failures: meant.filter(isProblem).length })
        expect(found.oldest).toBe(Math.min(...calls.map(({ at }) => at)))
        for (let step = 0; step < 10; step++) {
          const expected = within(step)
          const whole = found.steps.filter((one) => one.step === step)
          expect(whole).toEqual(expected.length === 0 ? [] : [{ step, ...stepOf(expected) }])
          if (by === undefined) continue
          const ofGroup = new Map<number | undefined, KeptCall[]>()
          for (const call of expected) {
            const place = found.groups.indexOf(KEYS[by](call))
            const group = place === -1 ? undefined : place
            ofGroup.set(group, [...(ofGroup.get(group) ?? []), call])
          }
          const parts = found.parts.filter((part) => part.step === step)
          expect(new Map(parts.map(({ group, step: _, ...rest }) => [group, rest]))).toEqual(
            new Map([...ofGroup].map(([group, of]) => [group, stepOf(of)])),
          )
        }
        const sizes = found.groups.map((key) => meant.filter((call) => by && KEYS[by](call) === key).length)
        expect(sizes).toEqual(sizes.toSorted((one, other) => other - one))
      }
    }
    await expect(admin.overTime({ times: [2, 1] })).rejects.toThrow('callsOverTime.times: must be in order')
  })

  it('are the newest 10,000 of a query, or 4,000 with their latency, and since when is said', {
    timeout: 60_000,
  }, async () => {
    const stores = engine.open('many-over-time')
    const now = Date.now()
    await stores.database.all({
      text: `insert into {calls} (id, request_id, at, operation, status, outcome, is_problem, details)
        with recursive n(i) as (select cast(1 as bigint) union all select i + 1 from n where i < 10001)
        select cast(i as text), cast(i as text), ?1 - i, 'chat', 502, 'provider_error', 1, '{"durationMs":5}' from n`,
      parameters: [BigInt(now)],
    })
    const { calls } = createAdmin(stores)
    const all = await calls.overTime({ times: [now - 30_000, now] })
    expect(all).toMatchObject({ failures: 10_000, since: now - 10_000, oldest: now - 10_001 })
    const withLatency = await calls.overTime({ times: [now - 30_000, now], withLatency: true })
    expect(withLatency).toMatchObject({ failures: 4_000, since: now - 4_000 })
    expect(withLatency.steps[0]).toMatchObject({ durationMs: { median: 5, slow: 5 } })
    expect(all.steps[0]).not.toHaveProperty('durationMs')
    const few = await calls.overTime({ times: [now - 9_999, now] })
    expect(few).toMatchObject({ failures: 9_999 })
    expect(few).not.toHaveProperty('since')
  })
})
