import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import type { Limit } from '../../src/stores.js'
import type { Script } from '../helpers/scripted-upstream.js'
import { type Answer, answers, errorOf, fails, perform, startService } from '../routing/service.js'
import { clockedLedgers, type OpenClocked } from './clocks.js'

const CONTEXT = { requestId: 'test', signal: new AbortController().signal }
/** A prompt of 221 tokens at most and 100 tokens of output, at 10 and 20 credits a million. */
const HOLD = 221n * 10_000n + 100n * 20_000n
/** Of 10 and 5 tokens. */
const COST = 200_000n
const ASK = { max_tokens: 100 }

interface Start {
  readonly limits: readonly Limit[]
  /** The time of the store. */
  readonly at: string
  /** How far the router's clock is ahead of the store's. */
  readonly skewMs?: number
  readonly routes?: number
}

/** A router and a ledger, on clocks that the test sets. */
async function start(open: OpenClocked, { at, limits, routes = 1, skewMs = 0 }: Start) {
  let now = Date.parse(at)
  const ledger = await open({ alice: '1' }, () => now)
  const service = await startService({
    routes: Array.from({ length: routes }, () => ({})),
    router: {
      // Timers take their real time, so nothing else happens when the clock is set.
      clock: { now: () => now + skewMs, after: systemClock.after },
      ledger,
      credentials: {
        resolve: () => ({
          ok: true,
          principal: { kind: 'api-key', account: 'alice', credentialId: 'key-1', limits },
        }),
      },
    },
  })
  onTestFinished(() => service.close())
  const setTime = (time: string): void => {
    now = Date.parse(time)
  }
  return { ...service, ledger, setTime }
}

const told = (answer: Answer) => (answer.status === 200 ? 200 : errorOf(answer).code)

/** Waits until it may proceed, then runs the other script. */
function heldScript(then: Script) {
  let proceed = () => {}
  const mayProceed = new Promise<void>((resolve) => {
    proceed = resolve
  })
  const script: Script = async (reply, request) => {
    await mayProceed
    if (typeof then === 'function') await then(reply, request)
    else await perform(then, reply)
  }
  return { proceed, script }
}

const NEW_YORK = 'America/New_York'
const HAVANA = 'America/Havana'
/** The last second of a day in New York, and the next day, of 25 hours. */
const BEFORE = '2026-11-01T03:59:59Z'
const MIDNIGHT = '2026-11-01T04:00:00Z'
const NEXT_MIDNIGHT = '2026-11-02T05:00:00Z'

const PERIODS = [
  ['a day of 23 hours in New York', 'day', NEW_YORK, '2026-03-08T05:00Z', '2026-03-09T04:00Z'],
  ['a day of 25 hours in New York', 'day', NEW_YORK, MIDNIGHT, NEXT_MIDNIGHT],
  ['a day with two midnights in Havana', 'day', HAVANA, '2026-11-01T04:00Z', '2026-11-02T05:00Z'],
  ['a day without a midnight in Havana', 'day', HAVANA, '2026-03-08T05:00Z', '2026-03-09T04:00Z'],
  ['a month in Tokyo', 'month', 'Asia/Tokyo', '2026-02-28T15:00Z', '2026-03-31T15:00Z'],
] as const
const plus = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString()
const HOUR_MS = 3_600_000

describe.each(clockedLedgers)('limits in the %s ledger', (_name, open) => {
  it.each(PERIODS)('start and end with %s', async (_period, per, zone, begin, end) => {
    const limits: readonly Limit[] = [{ id: 'rate', unit: 'requests', amount: 2n, per, zone }]
    const { ask, setTime } = await start(open, { at: plus(begin, -1_000), limits })
    const three = async () => [told(await ask()), told(await ask()), told(await ask())]
    expect(await three()).toEqual([200, 200, 'rate_limited'])
    setTime(begin)
    expect(told(await ask())).toBe(200)
    // After both midnights of Havana.
    setTime(plus(begin, 1.5 * HOUR_MS))
    expect(told(await ask())).toBe(200)
    setTime(plus(end, -1_000))
    const refused = await ask()
    expect([told(refused), refused.headers['retry-after']]).toEqual(['rate_limited', '1'])
    setTime(end)
    expect(await three()).toEqual([200, 200, 'rate_limited'])
  })

  it.each([
    ['ahead of', 30_000],
    ['behind', -30_000],
  ])("follow the ledger's clock if the router's is 30 s %s it", async (_where, skewMs) => {
    const limits: readonly Limit[] = [
      { id: 'rate', unit: 'requests', amount: 1n, per: 'day', zone: NEW_YORK },
    ]
    const { ask, setTime } = await start(open, { at: plus(MIDNIGHT, -31_000), limits, skewMs })
    expect(told(await ask())).toBe(200)
    setTime(plus(MIDNIGHT, -1_000))
    expect(told(await ask())).toBe('rate_limited')
    setTime(MIDNIGHT)
    expect(told(await ask())).toBe(200)
    setTime(plus(MIDNIGHT, 31_000))
    expect(told(await ask())).toBe('rate_limited')
  })

  it('count a call over midnight in the day on which it was admitted', async () => {
    const limits: readonly Limit[] = [
      { id: 'budget', unit: 'credits', amount: HOLD + COST, per: 'day', zone: NEW_YORK },
    ]
    const { ask, ledger, setTime, upstreams } = await start(open, { at: BEFORE, limits })
    const { proceed, script } = heldScript(answers('late'))
    upstreams[0]!.scriptOnce(script)
    const asked = upstreams[0]!.nextRequest()
    const late = ask(ASK)
    await asked
    expect(told(await ask(ASK))).toBe('budget_on_hold')
    setTime(MIDNIGHT)
    expect(told(await ask(ASK))).toBe(200)
    proceed()
    expect(told(await late)).toBe(200)
    // If the first call counted, too little would be left for this one.
    expect(told(await ask(ASK))).toBe(200)
    expect(told(await ask(ASK))).toBe('budget_exceeded')
    setTime(NEXT_MIDNIGHT)
    expect(told(await ask(ASK))).toBe(200)
    const { entries } = await ledger.entries({ account: 'alice' }, CONTEXT)
    const uses = entries.flatMap(({ charge, limits: used = [] }) => (charge === undefined ? [] : used))
    const [yesterday, today, tomorrow] = ['2026-10-31T04:00Z', MIDNIGHT, NEXT_MIDNIGHT].map(Date.parse)
    expect(uses.map(({ from, used }) => [from, used])).toEqual([
      [tomorrow, COST],
      [today, COST],
      [yesterday, COST],
      [today, COST],
    ])
  })

  it('count no second request for a call that falls back after midnight', async () => {
    const limits: readonly Limit[] = [
      { id: 'rate', unit: 'requests', amount: 1n, per: 'day', zone: NEW_YORK },
    ]
    const { ask, setTime, upstreams } = await start(open, { at: BEFORE, limits, routes: 2 })
    const { proceed, script } = heldScript(fails(500))
    upstreams[0]!.scriptOnce(script)
    const asked = upstreams[0]!.nextRequest()
    const late = ask()
    await asked
    setTime(MIDNIGHT)
    expect(told(await ask())).toBe(200)
    expect(told(await ask())).toBe('rate_limited')
    proceed()
    expect(told(await late)).toBe(200)
    expect(upstreams[1]!.requests).toHaveLength(1)
  })
})
