import { readLimit } from '../base/page-limit.js'
import type { Entry, EntryPage, EntryQuery } from '../contracts/index.js'
import { copyCharge } from './ledger-input.js'

/** An entry without its id, which is derived from its position when it is read. */
export type KeptEntry = Omit<Entry, 'id'>

const POSITION_PATTERN = /^\d{1,15}$/

/** The latest `max` entries, in order. */
export class EntryLog {
  private madeName: string | undefined
  /** The entry at each position modulo `max`. */
  private readonly entries: KeptEntry[] = []
  /** The position of the next entry. */
  private end = 0

  /**
   * The name begins the id of every entry. It is made when an entry is first read, since a Worker has no random numbers
   * while it starts.
   */
  constructor(
    private readonly newName: () => string,
    private readonly max: number,
  ) {}

  private get name(): string {
    this.madeName ??= this.newName()
    return this.madeName
  }

  /** Keeps an entry, not a copy of it. Returns its position. */
  add(entry: KeptEntry): number {
    this.entries[this.end % this.max] = entry
    return this.end++
  }

  /** Returns a copy of the entry at a position, or undefined if it has been dropped. */
  at(position: number): Entry | undefined {
    if (position < this.end - this.max) return undefined
    return copyEntry(this.entries[position % this.max]!, `${this.name}-${position}`)
  }

  /** Returns copies, newest first. */
  read(query: EntryQuery): EntryPage {
    const limit = readLimit(query.limit)
    const found: Entry[] = []
    const start = Math.max(0, this.end - this.max)
    for (let position = this.newest(query.after); position >= start; position--) {
      const entry = this.entries[position % this.max]!
      if (!matches(entry, query)) continue
      if (found.length === limit) return { entries: found, next: String(position + 1) }
      found.push(copyEntry(entry, `${this.name}-${position}`))
    }
    return { entries: found }
  }

  private newest(after: string | undefined): number {
    if (after === undefined) return this.end - 1
    if (!POSITION_PATTERN.test(after)) throw new TypeError('after must be the next of an earlier page')
    return Math.min(Number(after), this.end) - 1
  }
}

function copyEntry({ postings, charge, facts, limits, ...entry }: KeptEntry, id: string): Entry {
  return {
    id,
    ...entry,
    postings: postings.map((posting) => ({ ...posting })),
    ...(charge !== undefined && { charge: copyCharge(charge) }),
    ...(facts !== undefined && { facts: { ...facts } }),
    ...(limits !== undefined && { limits: limits.map((use) => ({ ...use })) }),
  }
}

function matches({ at, facts, postings }: KeptEntry, query: EntryQuery): boolean {
  return (
    (query.from === undefined || at >= query.from) &&
    (query.to === undefined || at < query.to) &&
    (query.appId === undefined || facts?.appId === query.appId) &&
    (query.model === undefined || facts?.model === query.model) &&
    (query.sessionId === undefined || facts?.sessionId === query.sessionId) &&
    (query.account === undefined || postings.some(({ account }) => account === query.account))
  )
}
