import { type Conflicts, takeBatch } from './take-batch.js'

/** What a fault of a whole batch means for the commands in it. */
export type FaultKind =
  /** The connection or the moment is to blame: the same batch again may well succeed. */
  | 'transient'
  /** One command is to blame: the others must not suffer. */
  | 'one-command'
  /** Some of the commands need what somebody else keeps locked, and nobody knows for how long. */
  | 'locked'
  /** The same batch again would fail again. */
  | 'permanent'

export interface GroupCommitOptions<Command, Outcome> {
  /** Runs a batch as one transaction and gives each command's outcome in order; a rejection means that none took effect, or that nobody knows. */
  readonly apply: (batch: readonly Command[]) => Promise<readonly Outcome[]>
  readonly faultOf: (error: unknown) => FaultKind
  /** After a `locked` fault: the commands that still have to wait. */
  readonly findLocked?: (batch: readonly Command[]) => Promise<ReadonlySet<Command>>
  /** Without, any commands may share a batch. */
  readonly conflicts?: Conflicts<Command>
  readonly maxCommands: number
  /** How long a command is tried again through transient faults. */
  readonly patienceMs: number
}

export interface GroupCommit<Command, Outcome> {
  /** Waits for the next commit. Rejected without being run if `signal` aborts before its turn. */
  add(command: Command, signal?: AbortSignal): Promise<Outcome>
  /** Runs what waits; after that every call rejects. */
  close(): Promise<void>
}

interface Waiting<Command, Outcome> {
  readonly command: Command
  readonly signal: AbortSignal | undefined
  readonly since: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 1_000

/**
 * Commits calls that wait at the same moment together. While one batch is under way the next one gathers, so that the
 * batches grow with the load and a call alone waits for nobody. Commands must bear repeating: after a transient fault the
 * same batch is run again, and a batch that fails for one command's sake is halved until that one fails alone. Commands
 * that wait for a lock of somebody else's wait in the next batch, after the others of theirs.
 */
export function createGroupCommit<Command, Outcome>(
  options: GroupCommitOptions<Command, Outcome>,
): GroupCommit<Command, Outcome> {
  type Item = Waiting<Command, Outcome>
  let queue: Item[] = []
  let running: Promise<void> | undefined
  let closed = false

  async function run(): Promise<void> {
    for (;;) {
      // A turn of the event loop lets every call of this moment join the batch.
      await new Promise<void>((resolve) => setImmediate(resolve))
      if (queue.length === 0) {
        running = undefined
        return
      }
      const { batch, rest } = takeBatch(queue, options.maxCommands, options.conflicts)
      queue = rest
      await runBatch(batch)
    }
  }

  async function runBatch(batch: readonly Item[]): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS
    let items = dropAborted(batch)
    while (items.length > 0) {
      try {
        const outcomes = await options.apply(items.map((item) => item.command))
        for (const [index, item] of items.entries()) item.resolve(outcomes[index]!)
        return
      } catch (error) {
        const kind = options.faultOf(error)
        if (kind === 'locked') return runUnlocked(items, error)
        if (kind === 'one-command' && items.length > 1) return runHalves(items)
        if (kind !== 'transient' || closed) return reject(items, error)
        items = dropImpatient(items, error)
        if (items.length === 0) return
        await new Promise<void>((resolve) => setTimeout(resolve, pauseMs))
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
        items = dropAborted(items)
      }
    }
  }

  async function runHalves(items: readonly Item[]): Promise<void> {
    const middle = items.length >> 1
    await runBatch(items.slice(0, middle))
    await runBatch(items.slice(middle))
  }

  /** Those that wait for the lock are first in the next batch, before any that came after them. */
  async function runUnlocked(items: readonly Item[], error: unknown): Promise<void> {
    const locked = items.length === 1 ? new Set(items) : await findLocked(items)
    // Nobody knows who waits, or the lock is gone by now: one that fails alone still waits.
    if (locked.size === 0) return runHalves(items)
    if (closed) reject([...locked], error)
    else queue.unshift(...dropImpatient([...locked], error))
    await runBatch(items.filter((item) => !locked.has(item)))
  }

  async function findLocked(items: readonly Item[]): Promise<ReadonlySet<Item>> {
    try {
      const commands = await options.findLocked?.(items.map((item) => item.command))
      return new Set(items.filter((item) => commands?.has(item.command)))
    } catch {
      return new Set(items)
    }
  }

  function dropImpatient(items: readonly Item[], error: unknown): readonly Item[] {
    const oldest = performance.now() - options.patienceMs
    return items.filter((item) => {
      if (item.since > oldest) return true
      item.reject(error)
      return false
    })
  }

  return {
    add(command, signal) {
      if (closed) return Promise.reject(new Error('The store is closed'))
      return new Promise<Outcome>((resolve, reject) => {
        queue.push({ command, signal, since: performance.now(), resolve, reject })
        running ??= run()
      })
    },
    async close() {
      closed = true
      await running
    },
  }
}

function reject(items: readonly Waiting<unknown, never>[], error: unknown): void {
  for (const item of items) item.reject(error)
}

function dropAborted<Command, Outcome>(
  items: readonly Waiting<Command, Outcome>[],
): readonly Waiting<Command, Outcome>[] {
  if (!items.some((item) => item.signal?.aborted)) return items
  return items.filter((item) => {
    if (!item.signal?.aborted) return true
    item.reject(item.signal.reason)
    return false
  })
}
