/** The engine's only source of time, so that a simulation can replace it. */
export interface Clock {
  /** Whole milliseconds since the Unix epoch. */
  now(): number
  /**
   * Calls `run` once after `ms` milliseconds. Returns a function that cancels the timer; a second cancel does nothing.
   * A timer in the `background` does not keep the process alive.
   */
  after(ms: number, run: () => void, background?: 'background'): () => void
}

/** 24.8 days. A Node timer with a longer delay fires at once. */
export const LONGEST_WAIT_MS = 2_147_483_647

/** The machine's time of day. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run, background) {
    const timer = setTimeout(run, Math.min(ms, LONGEST_WAIT_MS))
    // A Worker's timer is a number, and keeps nothing alive.
    if (background !== undefined) timer.unref?.()
    return () => clearTimeout(timer)
  },
}

const { timeOrigin } = performance

/** A clock for deadlines, unaffected by changes to the machine's time of day. */
export const monotonicClock: Clock = {
  ...systemClock,
  now: () => Math.floor(timeOrigin + performance.now()),
}
