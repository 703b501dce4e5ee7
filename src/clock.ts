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

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run, background) {
    const timer = setTimeout(run, ms)
    if (background !== undefined) timer.unref()
    return () => clearTimeout(timer)
  },
}
