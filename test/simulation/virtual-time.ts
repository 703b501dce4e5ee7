import type { Clock } from '../../src/base/clock.js'
import type { Random } from './random.js'

interface Timer {
  readonly at: number
  /** Chooses among timers of one moment at random, so that no code relies on their order. */
  readonly tie: number
  readonly run: () => void
  readonly owner: TimerOwner | undefined
  cancelled: boolean
}

/** The owner for which timers are counted together. */
export interface TimerOwner {
  timers: number
  alive: boolean
}

export const START_MS = 1_700_000_000_000

/**
 * A clock that waits until everything possible at a moment has happened, and then jumps to the next timer.
 */
export class VirtualTime {
  now = START_MS
  private readonly heap: Timer[] = []

  constructor(private readonly random: Random) {}

  /** Runs `run` at that moment. Returns a function that cancels it. */
  at(moment: number, run: () => void, owner?: TimerOwner): () => void {
    const timer: Timer = {
      at: Math.max(moment, this.now),
      tie: this.random.next(),
      run,
      owner,
      cancelled: false,
    }
    if (owner !== undefined) owner.timers++
    this.push(timer)
    return () => this.cancel(timer)
  }

  /** The clock of one process. Nothing runs in a killed process. */
  clock(owner: TimerOwner): Clock {
    return {
      now: () => this.now,
      after: (ms, run) => {
        if (!(ms >= 0)) throw new RangeError(`a timer of ${ms} ms`)
        return owner.alive ? this.at(this.now + ms, run, owner) : () => {}
      },
    }
  }

  /** Jumps to the next timer and runs it. Returns false if there is none. */
  step(): boolean {
    for (;;) {
      const timer = this.pop()
      if (timer === undefined) return false
      if (timer.cancelled) continue
      timer.cancelled = true
      if (timer.owner !== undefined) {
        timer.owner.timers--
        if (!timer.owner.alive) continue
      }
      this.now = timer.at
      timer.run()
      return true
    }
  }

  get nextAt(): number | undefined {
    while (this.heap[0]?.cancelled) this.pop()
    return this.heap[0]?.at
  }

  private cancel(timer: Timer): void {
    if (timer.cancelled) return
    timer.cancelled = true
    if (timer.owner !== undefined) timer.owner.timers--
  }

  private push(timer: Timer): void {
    const { heap } = this
    let place = heap.length
    while (place > 0) {
      const above = (place - 1) >> 1
      if (!isBefore(timer, heap[above]!)) break
      heap[place] = heap[above]!
      place = above
    }
    heap[place] = timer
  }

  private pop(): Timer | undefined {
    const { heap } = this
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let place = 0
    for (;;) {
      let below = 2 * place + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++
      if (!isBefore(heap[below]!, last)) break
      heap[place] = heap[below]!
      place = below
    }
    heap[place] = last
    return first
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.at < other.at || (one.at === other.at && one.tie < other.tie)
}

/** Settles every promise that can settle now. */
export function settlePromises(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Waits that many turns of the promise queue. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await undefined
}
