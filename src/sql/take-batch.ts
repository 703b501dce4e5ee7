/** Decides which commands must not run in one transaction. */
export interface Conflicts<Command> {
  /** The keys that a command works on. Two commands with the same key do not share a batch, unless they are alike. */
  readonly keysOf: (command: Command) => readonly string[]
  /** Whether two commands with the same key may share a batch. */
  readonly alike: (first: Command, second: Command) => boolean
}

/**
 * Splits a queue into its next batch, of at most `maxCommands`, and the rest. If a command has to wait, so do all later
 * commands with one of its keys, which keeps the order on each key.
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
