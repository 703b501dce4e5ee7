import { describe, expect, it } from 'vitest'
import { isLong } from '../helpers/long.js'
import { PLANTS } from './plants.js'
import { run } from './run.js'

/** A run is a world of about three calls. */
const RUNS = isLong ? 5_500 : 500
const MOST_RUNS_FOR_A_PLANT = 1_500
const FIRST_SEED = 20_260_101
const LONG_MS = 240_000

describe('the engine, in simulated worlds in which everything fails,', () => {
  it(
    'keeps every promise about money, replies and events',
    async () => {
      let calls = 0
      let charged = 0
      const failed: string[] = []
      for (let index = 0; index < RUNS; index++) {
        const { violations, ...result } = await run(String(FIRST_SEED + index))
        calls += result.calls
        charged += result.charged
        for (const violation of violations) failed.push(`seed ${result.seed}: ${violation}`)
      }
      expect(failed).toEqual([])
      expect(calls).toBeGreaterThanOrEqual(2.7 * RUNS)
      expect(charged).toBeGreaterThanOrEqual(0.5 * RUNS)
    },
    LONG_MS,
  )

  it('replays a seed exactly', async () => {
    for (let seed = 0; seed < 60; seed++) {
      const first = await run(`again ${seed}`, undefined, true)
      const second = await run(`again ${seed}`, undefined, true)
      expect(second).toEqual(first)
      expect(first.notes.length).toBeGreaterThan(0)
    }
  })
})

describe.runIf(isLong)('a bug planted in the simulation', () => {
  it.each(PLANTS.map(({ name }) => name))(
    'is found: %s',
    async (name) => {
      const plant = PLANTS.find((one) => one.name === name)!
      for (let index = 0; index < MOST_RUNS_FOR_A_PLANT; index++) {
        const { violations } = await run(String(FIRST_SEED + index), plant)
        if (violations.length > 0) return
      }
      expect.fail(`${name} was not found in ${MOST_RUNS_FOR_A_PLANT} runs`)
    },
    LONG_MS,
  )

  it('does not affect later runs', async () => {
    for (const plant of PLANTS) {
      await run('1', plant)
      expect((await run('1')).violations).toEqual([])
    }
  })
})
