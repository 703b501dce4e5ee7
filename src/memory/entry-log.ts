import type { Entry, EntryPage, EntryQuery } from '../contracts/index.js'
import { createQueue } from './queue.js'

/** What was posted, in order. */
export interface EntryLog {
  add(entry: Omit<Entry, 'id'>): void
  read(query: EntryQuery): EntryPage
}

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000
const RETENTION_MS = 31 * 24 * 60 * 60 * 1_000
const FORGOTTEN_AT_ONCE = 2

/** `name` starts the id of every entry. */
export function createEntryLog(name: string): EntryLog {
  const entries = createQueue<Omit<Entry, 'id'>>()
  return {
    add(entry) {
      entries.push(entry)
      for (let count = 0; count < FORGOTTEN_AT_ONCE; count++) {
        const oldest = entries.at(entries.start)
        if (oldest === undefined || oldest.at + RETENTION_MS > entry.at) return
        entries.shift()
      }
    },
    read(query) {
      const limit = readLimit(query.limit)
      const found: Entry[] = []
      for (let position = startOf(query.after, entries.end); position >= entries.start; position--) {
        const entry = entries.at(position)!
        if (!matches(entry, query)) continue
        if (found.length === limit) {
          return Object.freeze({ entries: Object.freeze(found), next: String(position + 1) })
        }
        found.push(Object.freeze({ ...entry, id: `${name}-${position}` }))
      }
      return Object.freeze({ entries: Object.freeze(found) })
    },
  }
}

/** Where to read on: below the position that the page before ended at. */
function startOf(after: string | undefined, end: number): number {
  if (after === undefined) return end - 1
  const position = Number(after)
  if (!Number.isSafeInteger(position) || position < 0) {
    throw new TypeError('after must be the next of an earlier page')
  }
  return Math.min(position, end) - 1
}

function readLimit(limit = DEFAULT_LIMIT): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new RangeError(`limit must be an integer from 1 to ${MAX_LIMIT}; got ${limit}`)
}

function matches({ at, postings, facts }: Omit<Entry, 'id'>, query: EntryQuery): boolean {
  return (
    (query.from === undefined || at >= query.from) &&
    (query.to === undefined || at < query.to) &&
    (query.appId === undefined || facts?.appId === query.appId) &&
    (query.model === undefined || facts?.model === query.model) &&
    (query.sessionId === undefined || facts?.sessionId === query.sessionId) &&
    (query.account === undefined || postings.some(({ account }) => account === query.account))
  )
}
