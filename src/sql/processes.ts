import { randomUUID } from 'node:crypto'
import type { KeptHolds } from '../contracts/index.js'
import { readBigint, readText } from './cells.js'
import type { Row, SqlDatabase } from './database.js'

/** The process that owns holds and leases, and its view of the other processes on the database. */
export interface Processes {
  /**
   * Returns the id under which holds are taken now. Undefined if nobody keeps them because {@link keep} was not called
   * yet.
   */
  current(): Promise<string | undefined>
  /** Like {@link current}, for a lease. */
  forLease(leaseMs: number): Promise<string | undefined>
  /** Reports that a batch has found this process cleared. The next batch gets a new id. */
  gone(id: string): void
  /** Reports that this process is alive, and clears processes that have stopped reporting. */
  keep(): Promise<KeptHolds>
  /** Expires all remaining holds and leases. No later batch may take any. */
  close(): Promise<void>
}

/** How many holds and leases of a process were still open. */
export interface ClearedProcess {
  readonly holds: number
  readonly leases: number
}

export interface ProcessesParts {
  readonly database: Pick<SqlDatabase, 'batch' | 'now'>
  /**
   * Deletes a process if it still has this beat, or in any case if `beat` is undefined, and expires its holds and
   * leases in the same transaction. Returns undefined if the process did not exist.
   */
  readonly clear: (id: string, beat: bigint | undefined) => Promise<ClearedProcess | undefined>
  readonly onCleared: (id: string, cleared: ClearedProcess) => void
  /** The minimum time between two polls that count. Shortened by tests. */
  readonly pollMs?: number | undefined
}

const POLL_MS = 5_000
/** After this many polls in a row without a beat, a process counts as dead. */
const SILENT_POLLS = 9
/** A timer may fire a little early by the monotonic clock, and a poll that came too early would not count. */
const SPARE_PARTS = 100

/** The beat of another process, and the number of polls since it last moved. */
interface Seen {
  readonly beat: bigint
  readonly polls: number
}

/**
 * Each process has a row with a beat that only it increments. No clock is compared with another, and a server that does
 * not answer counts no polls. A process that was silent for too long finds its row deleted and continues under a new id.
 */
export function createProcesses({ database, clear, onCleared, pollMs = POLL_MS }: ProcessesParts): Processes {
  let isKept = false
  let id: string | undefined
  /** The id to register, which stays the same until that has succeeded. */
  let nextId = randomUUID()
  /** The id that was cleared, whose leases the next one takes over. */
  let formerId: string | undefined
  let registering: Promise<string> | undefined
  let longestLeaseMs = 0
  let others = new Map<string, Seen>()
  let polledAt = -Infinity

  async function register(): Promise<string> {
    const insert = { text: 'insert into {processes} (id, beat) values (?1, 0) on conflict do nothing' }
    const takeOver = {
      // A lease that another process has taken in the meantime has that process's id.
      text: `update {replies} set process = ?1, expires_at = ${database.now} + cast(?3 as bigint)
        where process = ?2 and done = 0`,
      parameters: [nextId, formerId ?? null, BigInt(longestLeaseMs)],
    }
    await database.batch([{ ...insert, parameters: [nextId] }, ...(formerId === undefined ? [] : [takeOver])])
    id = nextId
    nextId = randomUUID()
    formerId = undefined
    return id
  }

  async function current(): Promise<string | undefined> {
    if (!isKept || id !== undefined) return id
    registering ??= register().finally(() => {
      registering = undefined
    })
    return registering
  }

  function gone(cleared: string): void {
    if (id !== cleared) return
    formerId = id
    id = undefined
  }

  /** Counts a poll that started at this time, and clears the processes that were silent for too many polls. */
  async function look(rows: readonly Row[], startedAt: number): Promise<void> {
    if (startedAt - polledAt < pollMs) return
    polledAt = performance.now()
    const before = others
    others = new Map()
    for (const row of rows) {
      const other = readText(row, 'id')
      const beat = readBigint(row, 'beat')
      const seen = before.get(other)
      others.set(other, { beat, polls: seen?.beat === beat ? seen.polls + 1 : 0 })
    }
    for (const [other, { beat, polls }] of others) {
      if (other === id || polls < SILENT_POLLS) continue
      try {
        const cleared = await clear(other, beat)
        if (cleared !== undefined) onCleared(other, cleared)
      } catch {
        // The next poll tries again.
      }
    }
  }

  return {
    current,
    gone,
    forLease(leaseMs) {
      longestLeaseMs = Math.max(longestLeaseMs, Math.ceil(leaseMs))
      return current()
    },
    async keep() {
      isKept = true
      for (;;) {
        const own = (await current())!
        const startedAt = performance.now()
        const [beats = [], rows = []] = await database.batch([
          { text: 'update {processes} set beat = beat + 1 where id = ?1 returning beat', parameters: [own] },
          { text: 'select id, beat from {processes}' },
        ])
        if (beats.length === 0) {
          gone(own)
          continue
        }
        await look(rows, startedAt)
        return {
          holder: own,
          everyMs: pollMs + pollMs / SPARE_PARTS,
          silentMs: pollMs * (SILENT_POLLS - 1),
        }
      }
    },
    async close() {
      if (id === undefined) return
      try {
        await clear(id, undefined)
      } catch {
        // Another process clears it.
      }
    },
  }
}
