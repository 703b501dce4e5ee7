import type { Entry, EntryPage, EntryQuery } from '../contracts/index.js'
import { createIdIndex } from './id-index.js'
import {
  cellsOf,
  type EntryCells,
  type KeptEntry,
  packCells,
  packedStrings,
  unpackEntry,
} from './packed-entry.js'
import { FORGOTTEN_AT_ONCE, RETENTION_MS } from './retention.js'
import { createTextLog } from './text-log.js'

/** What was posted, in order. */
export interface EntryLog {
  add(entry: KeptEntry): void
  /** The entry that settled a hold. */
  settlementOf(holdId: string): KeptEntry | undefined
  read(query: EntryQuery): EntryPage
  /** Forgets a few entries that are past retention and hands each to `forgotten`. */
  tidy(now: number, forgotten: (entry: KeptEntry) => void): void
}

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000
/** So many entries are packed in a microtask, when the reply of the latest is out: each would hold up a reply. */
const PACKED_AT_ONCE = 16
/** That many, which have come within one task, at once. */
const MOST_FRESH = 256
const SETTLED = Promise.resolve()
const POSITION_PATTERN = /^\d{1,15}$/

/** `name` starts the id of every entry. */
export function createEntryLog(name: string): EntryLog {
  const entries = createTextLog()
  /** The latest, not packed yet. */
  const fresh: EntryCells[] = []
  const holds = createIdIndex(() => entries.start)
  let oldest: KeptEntry | undefined

  function packFresh(): void {
    for (const cells of fresh) entries.push(packCells(cells))
    fresh.length = 0
  }

  return {
    add(entry) {
      const cells = cellsOf(entry)
      if (entry.holdId !== undefined) holds.add(entry.holdId, entries.end + fresh.length)
      const count = fresh.push(cells)
      if (count === PACKED_AT_ONCE) void SETTLED.then(packFresh)
      else if (count === MOST_FRESH) packFresh()
    },
    settlementOf(holdId) {
      let found: KeptEntry | undefined
      holds.find(holdId, (position) => {
        packFresh()
        const entry = unpackEntry(entries.at(position)!)
        if (entry.holdId === holdId) found = entry
        return found !== undefined
      })
      return found
    },
    read(query) {
      packFresh()
      const limit = readLimit(query.limit)
      const wanted = packedStrings([query.account, query.appId, query.model, query.sessionId])
      const found: Entry[] = []
      for (let position = startOf(query.after, entries.end); position >= entries.start; position--) {
        const packed = entries.at(position)!
        if (!wanted.every((text) => packed.includes(text))) continue
        const entry = unpackEntry(packed)
        if (!matches(entry, query)) continue
        if (found.length === limit) return { entries: found, next: String(position + 1) }
        found.push(toEntry(entry, `${name}-${position}`))
      }
      return { entries: found }
    },
    tidy(now, forgotten) {
      for (let count = 0; count < FORGOTTEN_AT_ONCE && entries.start < entries.end; count++) {
        oldest ??= unpackEntry(entries.at(entries.start)!)
        if (oldest.at + RETENTION_MS > now) return
        entries.shift()
        forgotten(oldest)
        oldest = undefined
      }
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

function toEntry({ at, postings, memo, holdId, charge, facts }: KeptEntry, id: string): Entry {
  if (holdId !== undefined)
    return { id, at, postings, kind: 'charge', holdId, charge: charge!, facts: facts! }
  return { id, at, postings, kind: 'grant', ...(memo !== undefined && { memo }) }
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
