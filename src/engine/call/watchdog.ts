import type { Clock } from '../../base/clock.js'
import { createDeadlineHeap, type Due } from '../../base/deadline-heap.js'

/** Something whose deadlines move while it runs. */
export interface Watched extends Due {
  /** Receives the time and returns when to check again. Infinity means never. */
  check(now: number): number
}

/** Checks running calls when they are due. */
export interface Watch {
  /** Checks at once, and then whenever `check` asks for it. */
  add(watched: Watched): void
  /** Does nothing if the item is not watched. */
  remove(watched: Watched): void
  /** Clears what timers there are. Call this when nothing is watched any more. */
  close(): void
}

/**
 * Checks each running call when it is due, with one timer for all. A deadline that moves with every byte is read only
 * when it could have passed, so it costs nothing per byte.
 */
export class Watchdog implements Watch {
  private readonly watched = createDeadlineHeap<Watched>()
  private timerAt = Infinity
  private cancelTimer = (): void => {}

  constructor(private readonly clock: Clock) {}

  add(watched: Watched): void {
    this.look(watched, this.clock.now())
    this.setTimer()
  }

  remove(watched: Watched): void {
    this.watched.remove(watched)
  }

  close(): void {
    this.cancelTimer()
    this.timerAt = Infinity
  }

  private look(watched: Watched, now: number): void {
    const due = watched.check(now)
    if (due === Infinity) return
    watched.deadline = Math.max(due, now + 1)
    this.watched.add(watched)
  }

  /**
   * Keeps a timer that fires earlier, even if its purpose is over: setting and cancelling one for each call would cost
   * more than waking for nothing. The timer does not keep the process alive. Calls do.
   */
  private setTimer(): void {
    const { first } = this.watched
    if (first === undefined || first.deadline >= this.timerAt) return
    this.cancelTimer()
    this.timerAt = first.deadline
    this.cancelTimer = this.clock.after(first.deadline - this.clock.now(), this.wake, 'background')
  }

  private readonly wake = (): void => {
    this.timerAt = Infinity
    const now = this.clock.now()
    try {
      for (let { first } = this.watched; first && first.deadline <= now; first = this.watched.first) {
        this.watched.remove(first)
        this.look(first, now)
      }
    } finally {
      this.setTimer()
    }
  }
}
