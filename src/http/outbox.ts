/** With no more calls than this under way there is little to gather, and a turn of the event loop is soon over anyway. */
const FEW_CALLS = 8

/**
 * Decides when a reply in one body goes out: at once, or, with many calls under way, at the end of this turn of the event
 * loop. What became ready in one turn is then sent without anything in between, which keeps the code that sends in the
 * processor's caches and wakes who reads on the same machine, such as a reverse proxy, once for many.
 */
export class Outbox {
  #calls = 0
  #waiting = 0
  #resume: (() => void)[] = []

  /** Where `gathers` is false everything goes out at once. */
  constructor(private readonly gathers: boolean) {}

  callBegins(): void {
    this.#calls++
  }

  callEnds(): void {
    this.#calls--
  }

  /** Runs `send`, which must not throw, now or at the end of this turn. */
  post(send: () => void): void {
    if (!this.gathers || this.#calls <= FEW_CALLS) {
      send()
      return
    }
    this.#waiting++
    // One for each reply, since what a host has put around `res.end()` may ask for the async context of its request.
    setImmediate(() => {
      send()
      this.#waiting--
      if (this.#waiting === 0) for (const resume of this.#resume.splice(0)) resume()
    })
  }

  /** Settled when all that was posted has been sent. */
  empty(): Promise<void> {
    return this.#waiting === 0 ? Promise.resolve() : new Promise((resolve) => this.#resume.push(resolve))
  }
}
