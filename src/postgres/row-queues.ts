import {
  createGroupCommit,
  type FaultKind,
  type GroupCommit,
  type GroupCommitOptions,
} from '../sql/group-commit.js'
import { createGate } from './gate.js'

/** The outcome of a command that had no effect, because another transaction has locked this row. */
export interface Busy {
  readonly kind: 'busy'
  readonly row: string
  /** Whether many commands of the batch need the row. */
  readonly isCrowded?: true
}

export interface RowQueuesOptions<Command, Outcome>
  extends Pick<GroupCommitOptions<Command, Outcome>, 'conflicts' | 'maxCommands' | 'patienceMs'> {
  /**
   * Runs a batch in one transaction, which waits only for the rows in `awaited`. A command that needs another row that is
   * locked is busy.
   */
  readonly apply: (
    batch: readonly Command[],
    awaited: readonly string[],
  ) => Promise<readonly (Outcome | Busy)[]>
  readonly faultOf: (error: unknown) => FaultKind
  /** Returns the rows that a command is known to lock, at least one. */
  readonly rowsOf: (command: Command) => readonly string[]
}

/** The commands that wait for the same rows. */
interface RowQueue<Command, Outcome> {
  readonly groupCommit: GroupCommit<Command, Outcome>
  waiting: number
  /** Whether its last batch was a crowd. Then the queue stays open for a moment. */
  isCrowded: boolean
}

/**
 * Most rows are free again after one batch of another process. Another try adds little to a batch, while a queue needs a
 * batch of its own.
 */
const TRIES_WITHOUT_WAIT = 6
/**
 * The pause before another try. Without it, the few remaining commands of a batch would be tried again in small
 * batches, while the other process still works on the batch that holds their rows.
 */
const PAUSE_MS = 5
/** This many commands for one row justify a separate batch at once, and so do the next ones for the row. */
const CROWD = 16
const LINGER_MS = 100
/** A command that finds a different row busy each time then waits for all of them together. */
const TRIES_FOR_ONE_ROW = 4

/**
 * Commits commands in groups, and keeps a locked row from delaying other commands. Batches do not wait for rows. A
 * command whose row is locked is retried in the next batches, and then waits for the row in a queue, which later
 * commands for the row join. The queues take turns on a second connection. A batch of a queue waits for its rows before
 * it locks any other, so no batch waits for a row that it does not need.
 */
export function createRowQueues<Command, Outcome extends { readonly kind: string }>({
  apply,
  faultOf,
  rowsOf,
  conflicts,
  maxCommands,
  patienceMs,
}: RowQueuesOptions<Command, Outcome>): GroupCommit<Command, Outcome> {
  const limits = { maxCommands, patienceMs, ...(conflicts !== undefined && { conflicts }) }
  const turns = createGate(1)
  const rowQueues = new Map<string, RowQueue<Command, Outcome | Busy>>()
  let isClosed = false
  let pause: { readonly end: Promise<void>; readonly finish: () => void } | undefined

  const quick = createGroupCommit<Command, Outcome | Busy>({
    ...limits,
    async apply(batch) {
      try {
        return markCrowds(await apply(batch, []))
      } catch (error) {
        const [only, ...others] = batch
        if (only === undefined || others.length > 0 || faultOf(error) !== 'locked') throw error
        return [{ kind: 'busy', row: rowsOf(only)[0]! }]
      }
    },
    // A batch waits for no known row. If it had to wait for something else, an unknown command caused that.
    faultOf(error) {
      const kind = faultOf(error)
      return kind === 'locked' ? 'one-locked' : kind
    },
  })

  function openRowQueue(key: string, rows: readonly string[]): RowQueue<Command, Outcome | Busy> {
    const groupCommit = createGroupCommit<Command, Outcome | Busy>({
      ...limits,
      apply(batch) {
        rowQueue.isCrowded = batch.length >= CROWD
        return apply(batch, rows)
      },
      faultOf,
      takeTurn: turns.enter,
    })
    const rowQueue = { groupCommit, waiting: 0, isCrowded: false }
    rowQueues.set(key, rowQueue)
    return rowQueue
  }

  function closeIfEmpty(key: string, rowQueue: RowQueue<Command, Outcome | Busy>): void {
    if (rowQueue.waiting === 0) rowQueues.delete(key)
  }

  async function waitFor(
    rows: readonly string[],
    command: Command,
    signal: AbortSignal | undefined,
  ): Promise<Outcome | Busy> {
    const key = rows.join('\0')
    const rowQueue = rowQueues.get(key) ?? openRowQueue(key, rows)
    rowQueue.waiting++
    try {
      return await rowQueue.groupCommit.add(command, signal)
    } finally {
      rowQueue.waiting--
      if (rowQueue.waiting === 0) {
        if (rowQueue.isCrowded && !isClosed) setTimeout(closeIfEmpty, LINGER_MS, key, rowQueue).unref()
        else rowQueues.delete(key)
      }
    }
  }

  /** Returns a row that the command needs and that others are already waiting for. Undefined if there is none. */
  function findAwaited(command: Command): string | undefined {
    return rowQueues.size === 0 ? undefined : rowsOf(command).find((row) => rowQueues.has(row))
  }

  /** Resolves at the end of the pause shared by all busy commands, or when the queues are closed. */
  function waitForTry(): Promise<void> {
    pause ??= startPause(() => {
      pause = undefined
    })
    return pause.end
  }

  /** Tries again if the outcome is a busy row. Returns the outcome, or the row to wait for. */
  async function retry(
    command: Command,
    signal: AbortSignal | undefined,
    first: Busy,
  ): Promise<Outcome | Busy> {
    let outcome: Outcome | Busy = first
    for (let tries = 1; isBusy(outcome) && tries < TRIES_WITHOUT_WAIT; tries++) {
      if (outcome.isCrowded || isClosed || rowQueues.has(outcome.row)) break
      await waitForTry()
      if (isClosed) break
      outcome = await quick.add(command, signal)
    }
    return outcome
  }

  /** Waits in a queue for the row that was busy, and for any other row that is busy then. */
  async function waitLong(command: Command, signal: AbortSignal | undefined, first: Busy): Promise<Outcome> {
    const found = new Set<string>()
    let { row } = first
    for (let tries = 1; ; tries++) {
      found.add(row)
      const outcome = await waitFor(tries < TRIES_FOR_ONE_ROW ? [row] : [...found].sort(), command, signal)
      if (!isBusy(outcome)) return outcome
      row = outcome.row
    }
  }

  return {
    async add(command, signal) {
      const awaited = isClosed ? undefined : findAwaited(command)
      if (awaited !== undefined) {
        const outcome = await waitFor([awaited], command, signal)
        return isBusy(outcome) ? waitLong(command, signal, outcome) : outcome
      }
      const first = await quick.add(command, signal)
      if (!isBusy(first)) return first
      const outcome = await retry(command, signal, first)
      return isBusy(outcome) ? waitLong(command, signal, outcome) : outcome
    },
    async close() {
      isClosed = true
      pause?.finish()
      // In the same turn of the event loop, the commands whose pause has ended open their queues.
      await new Promise<void>((resolve) => setImmediate(resolve))
      await quick.close()
      for (const [key, rowQueue] of rowQueues) closeIfEmpty(key, rowQueue)
      while (rowQueues.size > 0) {
        await Promise.all([...rowQueues.values()].map(({ groupCommit }) => groupCommit.close()))
      }
    },
  }
}

function startPause(onEnd: () => void): { readonly end: Promise<void>; readonly finish: () => void } {
  let finish = onEnd
  const end = new Promise<void>((resolve) => {
    const timer = setTimeout(() => finish(), PAUSE_MS)
    finish = () => {
      clearTimeout(timer)
      onEnd()
      resolve()
    }
  })
  return { end, finish }
}

function isBusy<Outcome extends { readonly kind: string }>(outcome: Outcome | Busy): outcome is Busy {
  return outcome.kind === 'busy'
}

function markCrowds<Outcome extends { readonly kind: string }>(
  outcomes: readonly (Outcome | Busy)[],
): readonly (Outcome | Busy)[] {
  if (!outcomes.some(isBusy)) return outcomes
  const counts = new Map<string, number>()
  for (const outcome of outcomes) {
    if (isBusy(outcome)) counts.set(outcome.row, (counts.get(outcome.row) ?? 0) + 1)
  }
  if (![...counts.values()].some((count) => count >= CROWD)) return outcomes
  return outcomes.map((outcome): Outcome | Busy =>
    isBusy(outcome) && counts.get(outcome.row)! >= CROWD
      ? { kind: 'busy', row: outcome.row, isCrowded: true }
      : outcome,
  )
}
