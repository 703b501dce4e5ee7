import type { Clock } from '../../clock.js'

/**
 * Runs `check` when the time that it last returned has come, until the watch is ended. `check` is handed the time and
 * returns when to look again, so that a deadline which moves with every byte needs no timer of its own per byte.
 */
export function watch(clock: Clock, check: (now: number) => number): () => void {
  let ended = false
  let cancel = (): void => {}
  const look = (): void => {
    if (ended) return
    const due = check(clock.now())
    if (!ended && Number.isFinite(due)) cancel = clock.after(Math.max(due - clock.now(), 1), look)
  }
  look()
  return () => {
    ended = true
    cancel()
  }
}
