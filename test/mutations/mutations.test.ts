import { describe, expect, it } from 'vitest'
import { isLong } from '../helpers/long.js'
import { Bench } from './bench.js'
import { mutant, RECORDINGS, unchanged } from './mutate.js'
import { expectedOf } from './oracle.js'
import { PLANTS } from './plants.js'
import { runMutant } from './run.js'

const FIRST_SEED = 20_260_101
const MUTANTS = isLong ? 1_000 : 400
const ASSEMBLED = 12
const AT_ONCE = 16
const LONG_MS = 180_000

/** Runs mutants until all are run, or `isDone`. */
async function run(
  bench: Bench,
  count: number,
  heard: (outcome: Awaited<ReturnType<typeof runMutant>>) => boolean,
  assembled = 0,
): Promise<void> {
  let next = 0
  let isDone = false
  const work = async (): Promise<void> => {
    while (next < count && !isDone) {
      const index = next++
      isDone ||= heard(await runMutant(bench, String(FIRST_SEED + index), index < assembled))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

describe('mutants of recorded replies', () => {
  it(
    'lose nothing good, never end as success if they failed, and are charged by the table',
    async () => {
      const bench = await Bench.start()
      const failed: string[] = []
      const seen = new Set<string>()
      const ends = new Set<string>()
      const heard = ({
        expected,
        mutant: made,
        violations,
      }: Awaited<ReturnType<typeof runMutant>>): boolean => {
        seen.add(made.recording)
        for (const { outcome } of expected) ends.add(outcome)
        for (const { message, promise } of violations) {
          failed.push(`npm run mutate -- --mutations 1 --seed ${made.seed}: ${promise}: ${message}`)
        }
        return false
      }
      await run(bench, MUTANTS, heard, ASSEMBLED)
      expect(failed).toEqual([])
      expect(bench.faults).toEqual([])
      expect([...seen].sort()).toEqual(RECORDINGS.map(({ name }) => name).sort())
      expect([...ends].sort()).toEqual(['broken', 'refused', 'whole'])
      expect(await bench.stop()).toEqual({ difference: 0n, held: 0n })
    },
    LONG_MS,
  )

  it.each(RECORDINGS)('are judged by an oracle that reads $name as a client must', (recording) => {
    const { counts, reply } = recording
    expect(expectedOf(unchanged(recording), !('body' in recording))).toMatchObject({
      outcome: 'whole',
      text: reply.text,
      reasoning: reply.reasoning,
      refusal: reply.refusal,
      calls: reply.toolCalls.map(({ arguments: json, name }) => ({ name, arguments: json })),
      finish: reply.finishReason,
      charge: { due: 'reported', counts },
    })
  })

  it('are the same for the same seed', () => {
    expect(mutant('7')).toEqual(mutant('7'))
  })
})

describe.runIf(isLong)('a bug planted for the mutants', () => {
  it.each(PLANTS.map(({ name }) => name))(
    'is found: %s',
    async (name) => {
      const plant = PLANTS.find((one) => one.name === name)!
      const bench = await Bench.start(plant)
      let found: string | undefined
      try {
        await run(bench, MUTANTS, ({ violations }) => {
          found ??= violations.find(({ promise }) => plant.breaks.includes(promise))?.promise
          return found !== undefined
        })
      } finally {
        await bench.stop()
      }
      expect(plant.breaks).toContain(found)
    },
    LONG_MS,
  )
})
