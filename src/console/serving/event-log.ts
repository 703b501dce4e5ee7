import type { RequestEnd, RequestStart, RouterEvent } from '../../contracts/index.js'
import { isChargedOperation } from '../../rules/free-operations.js'

/** A remembered event with its number and time. */
export interface KeptEvent {
  readonly number: number
  readonly at: number
  readonly event: Exclude<RouterEvent, RequestStart>
}

export interface EventLog {
  /** The maximum number of events that are remembered, not counting those that anybody can cause. */
  readonly capacity: number
  /** The maximum number of completed and charged calls that are remembered for one second. */
  readonly completedASecond: number
  /** The maximum number of requests that are remembered of those that did not authenticate. */
  readonly unauthenticated: number
  /** The router's `onEvent`. Never throws, and formats nothing. */
  readonly record: (event: RouterEvent) => void
  newestFirst(): readonly KeptEvent[]
  /** The end of each remembered call, by the id of its hold. */
  endsByHold(): ReadonlyMap<string, RequestEnd>
}

const CAPACITY = 1_000
const COMPLETED_A_SECOND = 100
const UNAUTHENTICATED = 100
const OWN_FAULTS = 100

/**
 * Remembers the newest events, by reference.
 *
 * It remembers only the first few calls that complete in each second. If it remembered all calls of a busy server, they
 * would be gone before anybody looked, and the garbage collector would move each to its old space first. Requests that did
 * not authenticate, and faults of the console, such as those of a host's `authorise`, have limits of their own: anybody
 * can cause any number of them.
 */
export function createEventLog(): EventLog {
  const events = new Ring<KeptEvent>(CAPACITY)
  const unauthenticated = new Ring<KeptEvent>(UNAUTHENTICATED)
  const ownFaults = new Ring<KeptEvent>(OWN_FAULTS)
  let count = 0
  let second = 0
  let completedInSecond = 0

  function isTooMany(at: number): boolean {
    const now = Math.floor(at / 1_000)
    if (now !== second) {
      second = now
      completedInSecond = 0
    }
    return ++completedInSecond > COMPLETED_A_SECOND
  }

  function newestFirst(): KeptEvent[] {
    return [...events.items, ...unauthenticated.items, ...ownFaults.items].sort(
      (one, other) => other.number - one.number,
    )
  }

  return {
    capacity: CAPACITY,
    completedASecond: COMPLETED_A_SECOND,
    unauthenticated: UNAUTHENTICATED,
    newestFirst,
    record(event) {
      if (event.type === 'request-start') return
      let at: number
      let ring = events
      if (event.type === 'request-end') {
        // A successful read of the models is not worth remembering, and some clients read them every second.
        if (!isChargedOperation(event.operation) && event.status < 400) return
        at = event.at
        if (event.outcome === 'completed' && event.charge !== undefined && isTooMany(at)) return
        if (isUnauthenticated(event)) ring = unauthenticated
      } else {
        at = Date.now()
        if (event.type === 'fault' && event.where === 'console') ring = ownFaults
      }
      ring.add({ number: ++count, at, event })
    },
    endsByHold() {
      const ends = new Map<string, RequestEnd>()
      for (const { event } of newestFirst()) {
        if (event.type !== 'request-end' || event.holdId === undefined || event.replayed === true) continue
        if (!ends.has(event.holdId)) ends.set(event.holdId, event)
      }
      return ends
    },
  }
}

/** Includes a request whose client left before its account was known. */
function isUnauthenticated({ status, facts, caller }: RequestEnd): boolean {
  return status === 401 || (facts === undefined && caller === undefined)
}

/** Keeps the newest items, in no order. */
class Ring<Item> {
  readonly items: Item[] = []
  private next = 0

  constructor(private readonly capacity: number) {}

  add(item: Item): void {
    this.items[this.next] = item
    this.next = (this.next + 1) % this.capacity
  }
}
