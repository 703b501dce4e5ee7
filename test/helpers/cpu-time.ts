const TRIES = 3

/**
 * The CPU time of a synchronous step, since the clock would also count what other programs of the machine do. On a core
 * that it shares with them, the same step takes longer: it is repeated until it takes less than `enough`, three times at
 * most, and the quickest counts.
 */
export function cpuMsOf(step: () => void, enough: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < TRIES && least >= enough; tries++) {
    const before = process.cpuUsage()
    step()
    const { system, user } = process.cpuUsage(before)
    least = Math.min(least, (system + user) / 1_000)
  }
  return least
}

const SPIN_MS = 20

/** How many times as long a step takes as it would if no other program shared its core: at least 1. */
export function slowdown(): number {
  const startedAt = performance.now()
  const before = process.cpuUsage()
  for (;;) {
    const { system, user } = process.cpuUsage(before)
    const cpuMs = (system + user) / 1_000
    if (cpuMs >= SPIN_MS) return Math.max(1, (performance.now() - startedAt) / cpuMs)
  }
}
