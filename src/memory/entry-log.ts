import type { Entry, EntryPage, EntryQuery, Posting } from '../contracts/index.js'
import { type HoldRow, RETENTION_MS } from './hold-book.js'
import { copyCharge, copyFacts, copyPostings } from './ledger-input.js'
import { createQueue } from './queue.js'

/** Credits added to an account. */
export interface Grant {
  readonly endedAt: number
  readonly postings: readonly Posting[]
  readonly memo: string | undefined
}

/** What was posted, in order. A settled hold is its own entry, so that a charge costs no more memory than it must. */
export interface EntryLog {
  add(posted: Grant | HoldRow): void
  read(query: EntryQuery): EntryPage
}

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000
const POSITION_PATTERN = /^\d{1,15}$/
const FORGOTTEN_AT_ONCE = 2

/** `name` starts the id of every entry. */
export function createEntryLog(name: string): EntryLog {
  const entries = createQueue<Grant | HoldRow>()
  return {
    add(posted) {
      entries.push(posted)
      for (let count = 0; count < FORGOTTEN_AT_ONCE; count++) {
        const oldest = entries.at(entries.start)
        if (oldest === undefined || oldest.endedAt + RETENTION_MS > posted.endedAt) return
        entries.shift()
      }
    },
    read(query) {
      const limit = readLimit(query.limit)
      const found: Entry[] = []
      for (let position = startOf(query.after, entries.end); position >= entries.start; position--) {
        const posted = entries.at(position)!
        if (!matches(posted, query)) continue
        if (found.length === limit) return { entries: found, next: String(position + 1) }
        found.push(toEntry(posted, `${name}-${position}`))
      }
      return { entries: found }
    },
  }
}

/** Where to read on: below the position that the page before ended at. */
function startOf(after: string | undefined, end: number): number {
  if (after === undefined) return end - 1
  if (!POSITION_PATTERN.test(after)) throw new TypeError('after must be the next of an earlier page')
  return Math.min(Number(after), end) - 1
}

function readLimit(limit = DEFAULT_LIMIT): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new RangeError(`limit must be an integer from 1 to ${MAX_LIMIT}; got ${limit}`)
}

function toEntry(posted: Grant | HoldRow, id: string): Entry {
  const shared = { id, at: posted.endedAt, postings: copyPostings(posted.postings!) }
  if ('memo' in posted) {
    return { ...shared, kind: 'grant', ...(posted.memo !== undefined && { memo: posted.memo }) }
  }
  const { holdId, charge, facts } = posted
  return { ...shared, kind: 'charge', holdId, charge: copyCharge(charge!), facts: copyFacts(facts!) }
}

function matches(posted: Grant | HoldRow, query: EntryQuery): boolean {
  const facts = 'memo' in posted ? undefined : posted.facts
  return (
    (query.from === undefined || posted.endedAt >= query.from) &&
    (query.to === undefined || posted.endedAt < query.to) &&
    (query.appId === undefined || facts?.appId === query.appId) &&
    (query.model === undefined || facts?.model === query.model) &&
    (query.sessionId === undefined || facts?.sessionId === query.sessionId) &&
    (query.account === undefined || posted.postings!.some(({ account }) => account === query.account))
  )
}
