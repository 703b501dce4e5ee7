/** The cause of a batch's failure. */
export type FaultKind =
  /** A passing fault, such as a lost connection. The same batch may succeed when it is retried. */
  | 'transient'
  /** The fault of one command, which must not harm the others. */
  | 'one-command'
  /** Every command needs a row that another transaction has locked, for an unknown time. */
  | 'locked'
  /** Some command needs a lock that another transaction has. It is unknown which. */
  | 'one-locked'
  /** A retry would fail, too. */
  | 'permanent'

export interface GroupCommitOptions<Command, Outcome> {
  /**
   * Runs a batch in one transaction and returns the outcomes in the commands' order. After a rejection, no command took
   * effect, or it is unknown.
   */
  readonly apply: (batch: readonly Command[]) => Promise<readonly Outcome[]>
  readonly faultOf: (error: unknown) => FaultKind
  /** Resolves when the next batch may start, to a function that ends its turn. If absent, a batch may start at once. */
  readonly takeTurn?: () => Promise<() => void>
  /** If absent, any commands may share a batch. */
  readonly conflicts?: Conflicts<Command>
  readonly maxCommands: number
  /** How long a command is retried after transient faults. */
  readonly patienceMs: number
}

export interface GroupCommit<Command, Outcome> {
  /** Runs a command in the next batch. Rejects without running it if `signal` aborts before its turn. */
  add(command: Command, signal?: AbortSignal): Promise<Outcome>
  /** Runs the waiting commands. Every later `add` rejects. */
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
 * Commits waiting commands together, in one transaction. While one batch runs, the next one fills, so batches grow with
 * the load and a single command does not wait. A command must be safe to repeat: after a transient fault, the same batch
 * is run again. If one command makes a batch fail, the batch is halved until that command fails alone. A batch that waits
 * for another transaction's lock is joined by the commands that arrived in the meantime, in the next turn.
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
      // One turn of the event loop lets all concurrent calls join the batch.
      await new Promise<void>((resolve) => setImmediate(resolve))
      if (queue.length === 0) {
        running = undefined
        return
      }
      const endTurn = await options.takeTurn?.()
      const { batch, rest } = takeBatch(queue, options.maxCommands, options.conflicts)
      queue = rest
      await runBatch(batch)
      endTurn?.()
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
        if (kind === 'locked' && !closed) {
          queue.unshift(...dropImpatient(items, error))
          return
        }
        if (kind === 'one-command' && items.length > 1) return runHalves(items)
        // Each half waits again, so a command may have waited long enough.
        if (kind === 'one-locked' && items.length > 1) return runHalves(dropImpatient(items, error))
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

/** Decides which commands must not run in one transaction. */
export interface Conflicts<Command> {
  /** The keys that a command works on. Two commands with the same key do not share a batch, unless they are alike. */
  readonly keysOf: (command: Command) => readonly string[]
  /** Whether two commands with the same key may share a batch. */
  readonly alike: (first: Command, second: Command) => boolean
}

/**
 * Splits a queue into its next batch, of at most `maxCommands`, and the rest. If a command has to wait, so do all later
 * commands with one of its keys, to keep the order on each key.
 */
export function takeBatch<Command, Item extends { readonly command: Command }>(
  queue: readonly Item[],
  maxCommands: number,
  conflicts: Conflicts<Command> | undefined,
): { readonly batch: readonly Item[]; readonly rest: Item[] } {
  if (conflicts === undefined) {
    return { batch: queue.slice(0, maxCommands), rest: queue.slice(maxCommands) }
  }
  const batch: Item[] = []
  const rest: Item[] = []
  const taken = new Map<string, Command>()
  const waiting = new Set<string>()
  for (const item of queue) {
    const keys = conflicts.keysOf(item.command)
    const mustWait = keys.some((key) => {
      if (waiting.has(key)) return true
      const first = taken.get(key)
      return first !== undefined && !conflicts.alike(first, item.command)
    })
    if (mustWait || batch.length >= maxCommands) {
      rest.push(item)
      for (const key of keys) waiting.add(key)
    } else {
      batch.push(item)
      for (const key of keys) taken.set(key, item.command)
    }
  }
  return { batch, rest }
}
