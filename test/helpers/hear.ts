import type { Watch } from '../../src/contracts/index.js'

export interface Hearing {
  /** The next change, past or future, in order. */
  next(): Promise<string | undefined>
  /** The next state of the connection. */
  connection(): Promise<boolean>
  end(): void
}

/** Watches. Resolves once changes arrive; earlier changes are dropped. */
export async function hear(watch: Watch): Promise<Hearing> {
  const changes = createInbox<string | undefined>()
  const states = createInbox<boolean>()
  const end = watch(changes.put, states.put)
  while (!(await states.take())) await Promise.resolve()
  changes.clear()
  return { next: changes.take, connection: states.take, end }
}

function createInbox<Item>() {
  const items: { item: Item }[] = []
  let waiting: ((item: Item) => void) | undefined
  return {
    put: (item: Item): void => {
      if (waiting === undefined) items.push({ item })
      else waiting(item)
      waiting = undefined
    },
    take: (): Promise<Item> => {
      const first = items.shift()
      if (first !== undefined) return Promise.resolve(first.item)
      return new Promise((resolve) => {
        waiting = resolve
      })
    },
    clear: () => {
      items.length = 0
    },
  }
}
