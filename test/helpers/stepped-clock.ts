import type { Clock } from '../../src/base/clock.js'

/** A stopped clock that the test moves. */
export interface SteppedClock extends Clock {
  /**
   * Moves time forward. Timers run in the order in which they are due. After each, the process gets a few
   * turns, so that the timer's effects begin before the next one is due.
   */
  elapse(ms: number): Promise<void>
  /** How many timers are set. */
  readonly pending: number
}

const TURNS_A_STEP = 3

export function createSteppedClock(start = 1_700_000_000_000): SteppedClock {
  const timers = new Set<{ readonly at: number; readonly run: () => void }>()
  let now = start

  const nextBy = (end: number) => {
    let next: { readonly at: number; readonly run: () => void } | undefined
    for (const timer of timers)
      if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer
    return next
  }

  return {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run }
      timers.add(timer)
      return () => {
        timers.delete(timer)
      }
    },
    async elapse(ms) {
      await turns(TURNS_A_STEP)
      const end = now + ms
      for (let timer = nextBy(end); timer !== undefined; timer = nextBy(end)) {
        timers.delete(timer)
        now = Math.max(now, timer.at)
        timer.run()
        await turns(TURNS_A_STEP)
      }
      now = end
      await turns(TURNS_A_STEP)
    },
    get pending() {
      return timers.size
    },
  }
}

/** Lets the process finish its pending work, without waiting for time. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
