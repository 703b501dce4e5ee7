import type { TurnGate } from '../base/turn-gate.js'

/** The most bytes that may wait for the end of a turn. A connection can bring megabytes in one turn. */
const GATHERED_BYTES = 64 * 1024
const SETTLED = Promise.resolve()

/**
 * Decides when the events read from a reply are handed over together: in a microtask, immediately at the end of the
 * reply, or at the end of the turn if many calls are running. After 64 KiB they do not wait for the turn, or a slow
 * client would not slow down its provider.
 */
export class HandOver {
  private isDue = false
  private bytes = 0

  constructor(
    private readonly turns: TurnGate,
    private readonly run: () => void,
  ) {}

  /** Counts bytes that have been read. */
  read(bytes: number): void {
    this.bytes += bytes
  }

  soon(): void {
    const isLarge = this.bytes > GATHERED_BYTES
    if (this.isDue && !isLarge) return
    this.isDue = true
    const turn = isLarge ? undefined : this.turns.wait()
    if (isLarge) this.bytes = 0
    // Cheaper than `queueMicrotask`, which creates an async resource for each call.
    void (turn ?? SETTLED).then(this.runIfDue)
  }

  /** Called when nothing more will be read. */
  last(): void {
    if (this.turns.wait() === undefined) this.now()
    else this.soon()
  }

  now(): void {
    this.isDue = false
    this.bytes = 0
    this.run()
  }

  private readonly runIfDue = (): void => {
    if (this.isDue) this.now()
  }
}
