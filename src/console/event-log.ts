import type { RequestEnd, RequestStart, RouterEvent } from '../contracts/index.js'

/** An event that is remembered: as it came, with its number and when. */
export interface KeptEvent {
  readonly number: number
  readonly at: number
  readonly event: Exclude<RouterEvent, RequestStart>
}

export interface EventLog {
  readonly capacity: number
  /** Of calls that were completed and charged, at most so many are remembered that ended in one second. */
  readonly completedASecond: number
  /** Takes an event: for the router's `onEvent`. Never throws, and formats nothing. */
  readonly take: (event: RouterEvent) => void
  /** Newest first. */
  newestFirst(): IterableIterator<KeptEvent>
  /** When each call of this process that has not ended came in, by request id; newest last. */
  readonly started: ReadonlyMap<string, { readonly at: number }>
  /** The end of each remembered call, by the hold that paid for it. */
  endsByHold(): ReadonlyMap<string, RequestEnd>
}

interface Started {
  readonly at: number
  count: number
}

/**
 * Remembers the newest `capacity` events and the newest `maxStarted` calls in flight, by reference. Request ids may be a
 * client's own, so that two calls may share one.
 *
 * Of the calls that a busy server completes in a second only the first few are remembered: all of them would be gone
 * before anybody looked, and the garbage collector would have carried each to its old space first.
 */
export function createEventLog(capacity = 1_000, maxStarted = 10_000, completedASecond = 100): EventLog {
  const ring: (KeptEvent | undefined)[] = new Array(capacity).fill(undefined)
  const started = new Map<string, Started>()
  let count = 0
  let second = 0
  let completedInSecond = 0

  function begin({ requestId, at }: RequestStart): void {
    const before = started.get(requestId)
    if (before !== undefined) {
      before.count++
      return
    }
    // The oldest goes: a call that never ends would be a fault, and must not cost memory for ever.
    if (started.size >= maxStarted) started.delete(started.keys().next().value!)
    started.set(requestId, { at, count: 1 })
  }

  function end({ requestId }: RequestEnd): void {
    const before = started.get(requestId)
    if (before === undefined) return
    before.count--
    if (before.count === 0) started.delete(requestId)
  }

  function isTooMany(at: number): boolean {
    const now = Math.floor(at / 1_000)
    if (now !== second) {
      second = now
      completedInSecond = 0
    }
    return ++completedInSecond > completedASecond
  }

  function* newestFirst(): IterableIterator<KeptEvent> {
    for (let number = count; number > Math.max(0, count - capacity); number--) {
      yield ring[(number - 1) % capacity]!
    }
  }

  return {
    capacity,
    completedASecond,
    started,
    newestFirst,
    take(event) {
      if (event.type === 'request-start') {
        if (event.operation === 'chat') begin(event)
        return
      }
      let at: number
      if (event.type === 'request-end') {
        // A list of models that was read is no news, and some clients read it every second.
        if (event.operation !== 'chat' && event.status < 400) return
        end(event)
        at = event.at
        if (event.outcome === 'completed' && event.charge !== undefined && isTooMany(at)) return
      } else {
        at = Date.now()
      }
      ring[count % capacity] = { number: count + 1, at, event }
      count++
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
