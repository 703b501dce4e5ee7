import { readNumber, readText } from '../sql/cells.js'
import type { Row, SqlDatabase, Statement } from '../sql/database.js'
import { createWatchers } from '../sql/watchers.js'

export interface ChangePoll {
  readonly watch: SqlDatabase['watch']
  /** Looks at once: this process has just changed something. */
  soon(): void
  close(): void
}

const POLL_MS = 250
/** Between two looks at a file that cannot be read, since each opens it anew. */
const LONGEST_PAUSE_MS = 10_000
const KEEP_MS = 3_600_000

/**
 * Hears what other processes on the file change, by asking the table of changes while somebody watches. What was missed
 * while the file could not be read is heard afterwards.
 */
export function createChangePoll(
  batch: (statements: readonly Statement[]) => Promise<readonly (readonly Row[])[]>,
): ChangePoll {
  const watchers = createWatchers({ first: start, last: stop })
  let timer: NodeJS.Timeout | undefined
  let lastSeq: number | undefined
  let isAsking = false
  let pauseMs = 0
  let pausedUntil = 0

  function start(): void {
    lastSeq = undefined
    look()
    timer = setInterval(look, POLL_MS)
    timer.unref()
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function look(): void {
    if (timer === undefined && lastSeq !== undefined) return
    if (isAsking || performance.now() < pausedUntil) return
    isAsking = true
    ask()
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
        isAsking = false
      })
  }

  async function ask(): Promise<void> {
    if (lastSeq === undefined) {
      const [rows = []] = await batch([
        { text: 'select coalesce(max(seq), 0) as seq from {changes}' },
        {
          // The newest stays, so that who has not heard it sees the gap before it.
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
      // A gap: what stood there was heard by nobody here before it was deleted.
      if (seq > lastSeq + 1) watchers.changedAll()
      lastSeq = seq
      watchers.changed(readText(row, 'topic'), readText(row, 'id'))
    }
  }

  return {
    watch: watchers.watch,
    soon: () => void (timer === undefined || look()),
    close: watchers.close,
  }
}
