import { isChargedOperation } from '../../contracts/free-operations.js'
import type { RequestEnd, RequestStart, RouterEvent } from '../../contracts/index.js'

/** An event that is remembered: as it came, with its number and when. */
export interface KeptEvent {
  readonly number: number
  readonly at: number
  readonly event: Exclude<RouterEvent, RequestStart>
}

export interface EventLog {
  /** How many events are remembered at most, beside those that anybody can cause. */
  readonly capacity: number
  /** Of calls that were completed and charged, at most so many are remembered that ended in one second. */
  readonly completedASecond: number
  /** How many requests that did not authenticate are remembered at most. */
  readonly unauthenticated: number
  /** Takes an event: for the router's `onEvent`. Never throws, and formats nothing. */
  readonly take: (event: RouterEvent) => void
  newestFirst(): readonly KeptEvent[]
  /** The end of each remembered call, by the hold that paid for it. */
  endsByHold(): ReadonlyMap<string, RequestEnd>
}

const CAPACITY = 1_000
const COMPLETED_A_SECOND = 100
const UNAUTHENTICATED = 100
const OWN_FAULTS = 100

/**
 * Remembers the newest events, by reference.
 *
 * Of the calls that a busy server completes in a second only the first few are remembered: all of them would be gone
 * before anybody looked, and the garbage collector would have carried each to its old space first. Requests that did not
 * authenticate, and faults of the console, such as those of a host's `authorise`, take no room from all else: anybody can
 * cause as many as they like.
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
    take(event) {
      if (event.type === 'request-start') return
      let at: number
      let ring = events
      if (event.type === 'request-end') {
        // A list of models that was read is no news, and some clients read it every second.
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

/** Also a request whose client left before it was known whose it was. */
function isUnauthenticated({ status, facts, caller }: RequestEnd): boolean {
  return status === 401 || (facts === undefined && caller === undefined)
}

/** The newest items, in no order. */
class Ring<Item> {
  readonly items: Item[] = []
  private next = 0

  constructor(private readonly capacity: number) {}

  add(item: Item): void {
    this.items[this.next] = item
    this.next = (this.next + 1) % this.capacity
  }
}
