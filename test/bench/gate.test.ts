import { describe, expect, it } from 'vitest'
import { createRandom } from '../simulation/random.js'
import type { Counts } from './lib/call-counts.js'
import { isNarrow, judgeFigure, judgeTwice, readFigure, type Verdict } from './lib/gate-verdict.js'
import { medianInterval } from './lib/interval.js'
import { judgeCounts } from './lib/recorded-counts.js'

/** As many blocks of 8 s as fit into five minutes. */
const MOST_BLOCKS = 37
const PROCESSES = 3
const WORLDS = 2_000

interface World {
  readonly seed: string
  /** How much dearer today's build is. */
  readonly ratio: number
  readonly budget: number
  /** The spread of blocks, and of processes of one build, as a share. Without others on the machine they were half of it. */
  readonly blockNoise?: number
  readonly processNoise?: number
}

/** Plays the gate: each measurement has processes of its own, which take turns as in `measureRow`. */
async function play({
  blockNoise = 0.06,
  budget,
  processNoise = 0.01,
  ratio,
  seed,
}: World): Promise<Verdict> {
  const random = createRandom(seed)
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
  const measure = async (): Promise<{ verdict: Verdict }> => {
    const processes = (): number[] => Array.from({ length: PROCESSES }, () => normal() * processNoise)
    const [earlier, today] = [processes(), processes()]
    const values: number[] = []
    for (;;) {
      const block = values.length
      const one = today[(block + Math.floor(block / PROCESSES)) % PROCESSES]!
      const other = earlier[block % PROCESSES]!
      values.push(ratio * Math.exp(one - other + normal() * blockNoise))
      const figure = readFigure(values)
      if (values.length < MOST_BLOCKS && !isNarrow(figure, values.length)) continue
      return { verdict: judgeFigure(figure, values.length, budget) }
    }
  }
  return (await judgeTwice(measure)).verdict
}

async function failures(world: Omit<World, 'seed'>): Promise<number> {
  let count = 0
  for (let number = 0; number < WORLDS; number++) {
    if ((await play({ ...world, seed: `gate-${number}` })) === 'past') count++
  }
  return count / WORLDS
}

describe('the gate of speed', () => {
  it.each([1, 1.03, 1.08])(
    'fails a build against itself at most once in 200, with a budget of %d',
    async (budget) => {
      expect(await failures({ ratio: 1, budget })).toBeLessThanOrEqual(1 / 200)
    },
  )

  it('fails a build at its budget at most once in 200', async () => {
    expect(await failures({ ratio: 1.08, budget: 1.08 })).toBeLessThanOrEqual(1 / 200)
  })

  it('fails a build that is a tenth past its budget', async () => {
    expect(await failures({ ratio: 1.19, budget: 1.08 })).toBeGreaterThan(0.95)
  })

  it('calls a measurement on a machine that is too busy unclear, and does not fail it', async () => {
    const verdict = await play({ seed: 'busy', ratio: 1.05, budget: 1.08, blockNoise: 0.5 })
    expect(verdict).toBe('unclear')
  })

  it('measures again only after a figure past the budget, and the second verdict counts', async () => {
    const judge = async (...verdicts: Verdict[]) => {
      const { verdict } = await judgeTwice(async () => ({ verdict: verdicts.shift()! }))
      return [verdict, verdicts.length]
    }
    expect(await judge('past', 'within')).toEqual(['within', 0])
    expect(await judge('past', 'past')).toEqual(['past', 0])
    expect(await judge('unclear', 'past')).toEqual(['unclear', 1])
  })

  it('reads the same interval from the same values, and a narrower one from more of them', () => {
    const random = createRandom('values')
    const values = Array.from({ length: 36 }, () => 1 + random.next() * 0.1)
    const few = medianInterval(values.slice(0, 8))
    const many = medianInterval(values)
    expect(medianInterval([...values].reverse())).toEqual(many)
    expect(many.low).toBeLessThan(many.median)
    expect(many.high).toBeGreaterThan(many.median)
    expect(many.high - many.low).toBeLessThan(few.high - few.low)
  })

  it('contains the true median in 95 of 100 intervals', () => {
    const random = createRandom('coverage')
    let inside = 0
    for (let round = 0; round < WORLDS; round++) {
      const { high, low } = medianInterval(Array.from({ length: 20 }, () => random.next()))
      if (low <= 0.5 && high >= 0.5) inside++
    }
    expect(inside / WORLDS).toBeGreaterThan(0.93)
    expect(inside / WORLDS).toBeLessThan(0.98)
  })

  it('judges the width of a difference by what it is a part of', () => {
    const differences = [20, 22, 21, 19, 20, 21, 20, 21, 20]
    const figure = readFigure(differences, [100, 101, 99, 100, 100, 100, 100, 100, 100])
    expect(figure.width).toBeCloseTo(0.01)
    expect(judgeFigure(figure, differences.length, 25)).toBe('within')
    expect(judgeFigure(figure, differences.length, 18)).toBe('past')
  })
})

describe('the counts of a call', () => {
  const recorded: Counts = { bytes: 30_000, promises: 14, timers: 1, listeners: 4, systemCalls: 7 }
  const past = (counts: Partial<Counts>, version = '20') =>
    judgeCounts({ ...recorded, ...counts }, { 20: recorded }, version)
      .filter(({ isPast }) => isPast)
      .map(({ title }) => title)

  it('may grow by three per cent, and not by more', () => {
    expect(past({ bytes: 30_900 })).toEqual([])
    expect(past({ bytes: 30_901, promises: 15 })).toEqual(['bytes allocated', 'promises'])
  })

  it('are not judged without strace, or on a version of Node without a record', () => {
    expect(past({ systemCalls: Number.NaN })).toEqual([])
    expect(past({ bytes: 60_000 }, '99')).toEqual([])
  })
})
