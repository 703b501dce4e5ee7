import type { TurnGate } from '../base/turn-gate.js'

/** What may wait for the end of a turn, in which a connection can bring megabytes. */
const GATHERED_BYTES = 64 * 1024
const SETTLED = Promise.resolve()

/**
 * Decides when what was read of a reply is handed over, all of it at once: in a microtask, with its end at once or, with
 * many calls under way, at the end of the turn. More than 64 KiB never waits for that, or a slow client would not hold up
 * its provider.
 */
export class HandOver {
  #isDue = false
  #bytes = 0

  constructor(
    private readonly turns: TurnGate,
    private readonly run: () => void,
  ) {}

  /** So much more has been read. */
  read(bytes: number): void {
    this.#bytes += bytes
  }

  soon(): void {
    const isMuch = this.#bytes > GATHERED_BYTES
    if (this.#isDue && !isMuch) return
    this.#isDue = true
    const turn = isMuch ? undefined : this.turns.wait()
    if (isMuch) this.#bytes = 0
    // Cheaper than `queueMicrotask`, which makes an async resource for each.
    void (turn ?? SETTLED).then(this.#runIfDue)
  }

  /** Nothing more will be read. */
  last(): void {
    if (this.turns.wait() === undefined) this.now()
    else this.soon()
  }

  now(): void {
    this.#isDue = false
    this.#bytes = 0
    this.run()
  }

  readonly #runIfDue = (): void => {
    if (this.#isDue) this.now()
  }
}
