import type { Clock } from '../../base/clock.js'
import type { Watch, Watched } from './watchdog.js'

/** Checks each running call by a timer of its own, for hosts where a timer ends with the call that set it. */
export class OwnTimers implements Watch {
  private readonly cancels = new Map<Watched, () => void>()

  constructor(private readonly clock: Clock) {}

  add(watched: Watched): void {
    const now = this.clock.now()
    const due = watched.check(now)
    if (due === Infinity) return
    const wake = (): void => {
      this.cancels.delete(watched)
      this.add(watched)
    }
    this.cancels.set(watched, this.clock.after(Math.max(due - now, 1), wake, 'background'))
  }

  remove(watched: Watched): void {
    this.cancels.get(watched)?.()
    this.cancels.delete(watched)
  }

  close(): void {
    for (const watched of this.cancels.keys()) this.remove(watched)
  }
}
