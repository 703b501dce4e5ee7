/** All that the engine knows of time, so that a simulation can bring its own. */
export interface Clock {
  /** Whole milliseconds since the Unix epoch. */
  now(): number
  /**
   * Runs `run` once after `ms` milliseconds. Returns a function that cancels it; cancelling twice does nothing.
   * A timer in the `background` does not keep the process alive.
   */
  after(ms: number, run: () => void, background?: 'background'): () => void
}

/** 24.8 days. Node's timers wait no longer: one that is set for more fires at once. */
export const LONGEST_WAIT_MS = 2_147_483_647

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run, background) {
    const timer = setTimeout(run, Math.min(ms, LONGEST_WAIT_MS))
    if (background !== undefined) timer.unref()
    return () => clearTimeout(timer)
  },
}

const { timeOrigin } = performance

/** The machine's time for deadlines. Setting the machine's clock does not move them. */
export const monotonicClock: Clock = {
  ...systemClock,
  now: () => Math.floor(timeOrigin + performance.now()),
}
