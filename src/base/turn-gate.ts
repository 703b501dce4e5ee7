/** With no more under way than this there is little to gather, and a turn of the event loop is soon over anyway. */
const FEW = 8

/**
 * Lets what became ready in one turn of the event loop go on together, at the end of that turn, where many are under way.
 *
 * Each step, from `await` to `await`, is then taken for all of them, instead of all steps for one and then for the next.
 * That keeps the code of a step in the processor's caches, sends what is ready without anything in between, and
 * gathers what one connection brought in several pieces.
 */
export class TurnGate {
  #inside = 0
  #turn: Promise<void> | undefined

  /** If `gathers` is false, nobody waits. */
  constructor(private readonly gathers: boolean) {}

  enter(): void {
    this.#inside++
  }

  leave(): void {
    this.#inside--
  }

  /** Returns undefined to go on at once, otherwise a promise that settles at the end of this turn, in the order of asking. */
  wait(): Promise<void> | undefined {
    if (!this.gathers || this.#inside <= FEW) return undefined
    this.#turn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#turn = undefined
        resolve()
      })
    })
    return this.#turn
  }
}
