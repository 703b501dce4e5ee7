/** All that the engine knows of time, so that a simulation can bring its own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Runs `run` once after `ms` milliseconds. Returns a function that cancels it; cancelling twice does nothing. */
  after(ms: number, run: () => void): () => void
}

/** The machine's own time. Its timers do not keep a process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
