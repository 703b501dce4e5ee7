import { PathRunner, type ReadingPath } from './reading-paths.js'

/** The size is made so large that a call takes this long, if a limit allows. */
const LEAST_MS = 20
const FACTOR = 4
/** Four times the size may take this many times as long: a step that takes the square takes sixteen times. */
export const MOST_GROWTH = 6
const TIMES = 5
const FIRST_SIZE = 64
/** How often a growth that is too large is measured again, at twice the size if a limit allows. */
const REPEATS = 3

export interface Growth {
  readonly size: number
  readonly ms: number
  readonly largerMs: number
  /** How many times as long a call takes at four times the size. */
  readonly growth: number
  /** Whether a call was long enough to tell. */
  readonly isMeasured: boolean
}

/** Measures the time of a call as its size grows, as the best of five of each size. */
export async function growthOf(path: ReadingPath): Promise<Growth> {
  const runner = await PathRunner.start(path)
  try {
    const most = Math.floor(path.most / FACTOR)
    let size = Math.min(FIRST_SIZE, most)
    // What does not grow with the size, such as the connection, is no part of the growth.
    await runner.run(1)
    const fixed = await best(() => runner.run(1))
    const timeOf = async (count: number) => (await best(() => runner.run(count))) - fixed
    while (size < most && (await runner.run(size)) - fixed < LEAST_MS) size = Math.min(size * 2, most)
    let ms = await timeOf(size)
    while (size < most && ms < LEAST_MS) {
      size = Math.min(size * 2, most)
      ms = await timeOf(size)
    }
    const measured = async (count: number, countMs: number): Promise<Growth> => {
      const largerMs = await timeOf(count * FACTOR)
      const growth = largerMs / Math.max(countMs, 1)
      return { size: count, ms: countMs, largerMs, growth, isMeasured: countMs >= LEAST_MS }
    }
    let found = await measured(size, ms)
    // A step that takes the square grows at every size. Memory that is first used at one size does not.
    for (let again = 0; again < REPEATS && found.growth > MOST_GROWTH; again++) {
      size = Math.min(size * 2, most)
      const next = await measured(size, await timeOf(size))
      if (next.growth < found.growth) found = next
    }
    return found
  } finally {
    await runner.close()
  }
}

async function best(run: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let time = 0; time < TIMES; time++) least = Math.min(least, await run())
  return least
}
