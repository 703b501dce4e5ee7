import type { Clock } from '../../base/clock.js'
import { createDeadlineHeap, type Due } from '../../base/deadline-heap.js'

/** Something with deadlines that move while it goes on. */
export interface Watched extends Due {
  /** Is handed the time, and returns when to look again: Infinity for never. */
  check(now: number): number
}

/**
 * Looks at each of the calls under way when it is due, with one timer for all. A deadline that moves with every byte is
 * only read when it could have passed, and so costs nothing per byte.
 */
export class Watchdog {
  private readonly watched = createDeadlineHeap<Watched>()
  private timerAt = Infinity
  private cancelTimer = (): void => {}

  constructor(private readonly clock: Clock) {}

  /** Looks at once, and then whenever `check` has said. */
  add(watched: Watched): void {
    this.look(watched, this.clock.now())
    this.setTimer()
  }

  /** Does nothing if it is no longer watched. */
  remove(watched: Watched): void {
    this.watched.remove(watched)
  }

  /** Leaves no timer behind. To be called when nothing is watched any more. */
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
   * A timer that is set already stays where it fires earlier, also when what it was set for is over: to set and cancel one
   * for each call would cost more than to wake for nothing. It does not keep the process alive, calls do.
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
