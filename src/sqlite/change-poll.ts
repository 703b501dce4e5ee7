import { readNumber, readText } from '../sql/cells.js'
import type { Row, SqlDatabase, Statement } from '../sql/database.js'
import { createWatchers } from '../sql/watchers.js'

export interface ChangePoll {
  readonly watch: SqlDatabase['watch']
  /** Polls at once, because this process has just made a change. */
  soon(): void
  close(): void
}

const POLL_MS = 250
/** The longest pause between two polls of an unreadable file, since each poll opens it again. */
const LONGEST_PAUSE_MS = 10_000
const KEEP_MS = 3_600_000

/**
 * Reports changes that other processes make to the file. Polls the table of changes while there are watches. Changes
 * missed while the file was unreadable are reported afterwards.
 */
export function createChangePoll(
  batch: (statements: readonly Statement[]) => Promise<readonly (readonly Row[])[]>,
): ChangePoll {
  const watchers = createWatchers({ first: start, last: stop })
  let timer: NodeJS.Timeout | undefined
  let lastSeq: number | undefined
  let isPolling = false
  let pauseMs = 0
  let pausedUntil = 0

  function start(): void {
    lastSeq = undefined
    poll()
    timer = setInterval(poll, POLL_MS)
    timer.unref()
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function poll(): void {
    if (timer === undefined && lastSeq !== undefined) return
    if (isPolling || performance.now() < pausedUntil) return
    isPolling = true
    readChanges()
      .then(
        () => {
          pauseMs = 0
          watchers.connected(true)
        },
        () => {
          pauseMs = Math.min(Math.max(pauseMs * 2, POLL_MS), LONGEST_PAUSE_MS)
          pausedUntil = performance.now() + pauseMs
          watchers.connected(false)
        },
      )
      .finally(() => {
        isPolling = false
      })
  }

  async function readChanges(): Promise<void> {
    if (lastSeq === undefined) {
      const [rows = []] = await batch([
        { text: 'select coalesce(max(seq), 0) as seq from {changes}' },
        {
          // The newest row stays, so that a process that missed earlier rows sees the gap before it.
          text: 'delete from {changes} where at < ?1 and seq < (select max(seq) from {changes})',
          parameters: [BigInt(Date.now() - KEEP_MS)],
        },
      ])
      lastSeq = readNumber(rows[0]!, 'seq')
      watchers.changedAll()
      return
    }
    const [rows = []] = await batch([
      { text: 'select seq, topic, id from {changes} where seq > ?1 order by seq', parameters: [lastSeq] },
    ])
    for (const row of rows) {
      const seq = readNumber(row, 'seq')
      // A gap: rows were deleted before this process read them.
      if (seq > lastSeq + 1) watchers.changedAll()
      lastSeq = seq
      watchers.changed(readText(row, 'topic'), readText(row, 'id'))
    }
  }

  return {
    watch: watchers.watch,
    soon: () => void (timer === undefined || poll()),
    close: watchers.close,
  }
}
