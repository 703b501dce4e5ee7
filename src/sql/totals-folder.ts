import { setTimeout as delay } from 'node:timers/promises'
import { type FoldingDatabase, foldAccounts, foldTotals, isDue } from './totals.js'

/** Adds this process's entries to the totals, soon after they were written. Others do the same, one at a time. */
export interface TotalsFolder {
  /** Reports that this process has written entries. */
  wrote(): void
  /** Adds the remaining entries. A failure is left to the next process. */
  close(): Promise<void>
}

export interface TotalsFolderParts {
  readonly database: FoldingDatabase
  /**
   * Called when entries have waited for longer than a minute, again each minute while they wait, and with 0 once they do
   * not. Reports are right meanwhile, but read all these entries.
   */
  readonly onBehind: (behindMs: number) => void
  /** The time between two rounds; null for none. */
  readonly everyMs: number | null
}

/** Reports read what was written since. */
export const FOLD_MS = 10_000
const BEHIND_MS = 60_000

export function createTotalsFolder({ database, onBehind, everyMs }: TotalsFolderParts): TotalsFolder {
  /** When the oldest entry was written that may not be in the totals, by the monotonic clock. */
  let since: number | undefined
  let wroteAt = 0
  let toldAt: number | undefined
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isClosed = false
  /** The entries that are being added to the totals by account. That may take seconds. */
  let keying: Promise<void> | undefined
  /** When that failed, unless it has succeeded since. */
  let failedAt: number | undefined

  function tellBehind(): void {
    const now = performance.now()
    const behindMs = now - Math.min(since ?? now, failedAt ?? now)
    if (behindMs < BEHIND_MS) {
      if (toldAt !== undefined) onBehind(0)
      toldAt = undefined
    } else if (toldAt === undefined || now - toldAt >= BEHIND_MS) {
      onBehind(behindMs)
      toldAt = now
    }
  }

  async function round(): Promise<void> {
    const startedAt = performance.now()
    try {
      // Rounds of several processes do not add up, and the last one of all adds everything.
      const ageMs = isClosed ? 0 : (everyMs ?? 0) / 2
      let waiting = await foldTotals(database, ageMs)
      while (waiting.state === 'more') waiting = await foldTotals(database, ageMs)
      // What was written meanwhile is left for the next round.
      if (waiting.state === 'done') since = wroteAt > startedAt ? startedAt : undefined
      if (!isDue(waiting, Date.now())) failedAt = undefined
      else if (!isClosed) {
        keying ??= addByAccount().finally(() => {
          keying = undefined
          if (failedAt !== undefined) schedule()
        })
      }
    } catch {
      // The next round tries again, and an event tells if none succeeds.
    }
    tellBehind()
  }

  async function addByAccount(): Promise<void> {
    try {
      let startedAt = performance.now()
      while ((await foldAccounts(database)) === 'more' && !isClosed) {
        // Calls that wait for SQLite get as much time.
        if (database.engine === 'sqlite')
          await delay(performance.now() - startedAt, undefined, { ref: false })
        startedAt = performance.now()
      }
      failedAt = undefined
    } catch {
      // Nothing of the step was kept. The next round tries again, as above.
      failedAt ??= performance.now()
    }
  }

  function schedule(): void {
    if (everyMs === null || timer !== undefined || running !== undefined || isClosed) return
    timer = setTimeout(() => {
      timer = undefined
      running = round().finally(() => {
        running = undefined
        if (since !== undefined || failedAt !== undefined || toldAt !== undefined) schedule()
      })
    }, everyMs)
    timer.unref()
  }

  return {
    wrote() {
      wroteAt = performance.now()
      since ??= wroteAt
      schedule()
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      await running
      if (since !== undefined && everyMs !== null) await round()
      await keying
    },
  }
}
