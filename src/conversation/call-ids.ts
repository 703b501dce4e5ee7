import { createHash } from 'node:crypto'
import type { CallsAndResults } from './results.js'

const HASH_CHARS = 8

/** Returns a text of at most this many characters. A longer one ends with a hash of the whole text. */
export function shortenedTo(most: number, text: string): string {
  if (text.length <= most) return text
  const hash = createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS)
  return `${text.slice(0, most - HASH_CHARS - 1)}_${hash}`
}

/** Returns an id with only the characters that Claude, and clients of its API, accept. */
export function idForClaude(id: string): string {
  return id.replace(/[^\w-]/g, '_')
}

/** The new ids of the calls with one given id. Those before `next` have their results. */
interface Waiting {
  readonly ids: string[]
  next: number
}

/** The id of a call without one. */
const UNNAMED = 'call'

/**
 * Gives the calls of a conversation ids that an API takes, each only once. An id depends only on the conversation before
 * it, so one that grows keeps the ids of its beginning. Expects results in the order of their calls.
 */
export class CallIds {
  private readonly used = new Set<string>()
  /** How often each id was asked for. */
  private readonly times = new Map<string, number>()
  private readonly waiting = new Map<string, Waiting>()
  /** The ids of calls that have no results yet, in their order. */
  private readonly unanswered = new Set<string>()

  /** @param fitting returns an id that the API takes: the same one for the same text */
  constructor(private readonly fitting: (id: string) => string) {}

  /** Returns the id of the next call. */
  ofCall(given: string): string {
    const first = this.fitting(given === '' ? UNNAMED : given)
    let time = this.times.get(first) ?? 0
    let id: string
    do {
      time++
      id = time === 1 ? first : this.fitting(`${first}_${time}`)
    } while (this.used.has(id))
    this.times.set(first, time)
    this.used.add(id)
    this.unanswered.add(id)
    const waiting = this.waiting.get(given)
    if (waiting === undefined) this.waiting.set(given, { ids: [id], next: 0 })
    else waiting.ids.push(id)
    return id
  }

  /**
   * Returns the id for the next result: that of the earliest call with this id that has none yet. A result without an id
   * belongs to the earliest call without a result.
   */
  ofResult(given: string): string {
    const id = this.idOfResult(given)
    this.unanswered.delete(id)
    return id
  }

  private idOfResult(given: string): string {
    const waiting = this.waiting.get(given)
    const next = waiting?.ids[waiting.next]
    if (waiting !== undefined && next !== undefined) {
      waiting.next++
      return next
    }
    if (given === '') for (const id of this.unanswered) return id
    // A further result belongs to the last of these calls.
    return waiting?.ids.at(-1) ?? this.fitting(given)
  }
}

/**
 * Returns ids for the calls and results of a conversation, or undefined if an API takes the given ones.
 *
 * @param settled elements whose results stand behind their calls
 */
export function callIdsFor<Element>(
  settled: readonly Element[],
  { callsOf, resultOf }: Pick<CallsAndResults<Element>, 'callsOf' | 'resultOf'>,
  fitting: (id: string) => string,
): CallIds | undefined {
  let known: Set<string> | undefined
  for (const element of settled) {
    if (resultOf(element) === '') return new CallIds(fitting)
    for (const id of callsOf(element)) {
      known ??= new Set()
      if (id === '' || known.has(id) || fitting(id) !== id) return new CallIds(fitting)
      known.add(id)
    }
  }
  return undefined
}
