/** Which commands must not run in one transaction. */
export interface Conflicts<Command> {
  /** What a command works on. Two that name the same key do not share a batch, */
  readonly keysOf: (command: Command) => readonly string[]
  /** but where they are alike. */
  readonly alike: (first: Command, second: Command) => boolean
}

/**
 * Splits a queue into its next batch, of so many commands at most, and the rest. A command that has to wait makes all
 * after it wait that name one of its keys, so that on each key the order stays.
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
