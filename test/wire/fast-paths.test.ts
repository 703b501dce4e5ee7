import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nanos } from '../helpers/decimals.js'
import { isLong } from '../helpers/long.js'
import { costsInLedger, costsOnWire, findingsOf } from './fast-paths/findings.js'
import { createScenario } from './fast-paths/scenario.js'
import { OPENING } from './fast-paths/settings.js'
import { type Played, type Side, startSide } from './fast-paths/side.js'

const runs = Number(process.env.FAST_PATHS_RUNS ?? (isLong ? 30 : 4))
/** About half as often as seeds make it on average, so that no path goes untested. */
const LEAST_TIMES_A_RUN = 5
const firstSeed = Number(process.env.FAST_PATHS_SEED ?? 20_260_101)

let on: Side
let off: Side
let lastPlayed: readonly [on: Played, off: Played]

beforeAll(async () => {
  on = await startSide('on')
  off = await startSide('off')
})
afterAll(() => Promise.all([on.close(), off.close()]))

describe("the router's fast paths", () => {
  it.each(Array.from({ length: runs }, (_, run) => firstSeed + run))(
    'change neither a byte nor a charge (seed %i)',
    async (seed) => {
      const scenario = createScenario(String(seed))
      const played = await Promise.all([on.play(scenario), off.play(scenario)])
      lastPlayed = played
      for (const side of played) {
        const { faults, held, openHolds, posted } = side.accounts
        expect({ faults, held, openHolds }).toEqual({ faults: [], held: 0n, openHolds: 0 })
        const inLedger = costsInLedger(scenario, side)
        expect(inLedger).toMatchObject(costsOnWire(scenario, side))
        const spent = Object.entries(OPENING).map(([account, opening]) => nanos(opening) - posted[account]!)
        expect(sum(spent)).toBe(sum(Object.values(inLedger)))
      }
      const [open, closed] = played.map((side) => findingsOf(scenario, side))
      expect(open).toEqual(closed)
    },
  )

  it('are used if they are on, and not if they are off', () => {
    const [open, closed] = lastPlayed.map(({ accounts }) => accounts.taken)
    for (const times of Object.values(open!)) expect(times).toBeGreaterThan(LEAST_TIMES_A_RUN * runs)
    expect(closed).toEqual({ gathered: 0, spliced: 0, chunks: 0, lines: 0, messages: 0 })
  })
})

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n)
}
