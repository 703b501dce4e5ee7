import type { Clock } from '../../src/base/clock.js'

export interface ManualClock extends Clock {
  advance(ms: number): void
}

/** Creates a clock that moves only with `advance`. Timers run in the order in which they are due. */
export function createManualClock(start = 1_700_000_000_000): ManualClock {
  let now = start
  let timers: { at: number; run: () => void }[] = []
  return {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run }
      timers.push(timer)
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
    advance(ms) {
      const end = now + ms
      for (;;) {
        const due = timers.filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0]
        if (due === undefined) break
        timers = timers.filter((other) => other !== due)
        now = Math.max(now, due.at)
        due.run()
      }
      now = end
    },
  }
}
