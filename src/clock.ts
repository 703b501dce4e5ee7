/** All that the engine knows of time, so that a simulation can bring its own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /**
   * Runs `run` once after `ms` milliseconds. Returns a function that cancels it; cancelling twice does nothing.
   * A timer in the `background` does not keep the process alive.
   */
  after(ms: number, run: () => void, background?: 'background'): () => void
}

/** 24.8 days. Node's timers wait no longer: one that is set for more fires at once. */
export const LONGEST_WAIT_MS = 2_147_483_647

/** The same clock for deadlines: its time never goes back, where the other is set back it goes on from where it was. */
export function steadyClock(clock: Clock): Clock {
  let last = -Infinity
  let setBackMs = 0
  return {
    now() {
      const now = clock.now() + setBackMs
      if (now < last) setBackMs += last - now
      else last = now
      return last
    },
    after: (ms, run, background) => clock.after(ms, run, background),
  }
}

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run, background) {
    const timer = setTimeout(run, Math.min(ms, LONGEST_WAIT_MS))
    if (background !== undefined) timer.unref()
    return () => clearTimeout(timer)
  },
}
