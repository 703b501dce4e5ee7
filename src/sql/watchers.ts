import type { SqlDatabase } from './database.js'
import { callHost } from './host-call.js'

interface Watcher {
  readonly topic: string
  readonly changed: (id?: string) => void
  readonly connection: ((connected: boolean) => void) | undefined
}

/** Those who want to hear of changes, by topic. */
export interface Watchers {
  readonly watch: SqlDatabase['watch']
  /** An empty id stands for all of them. */
  changed(topic: string, id: string): void
  /** Something was missed. */
  changedAll(): void
  /** Tells the watchers when it is not what it was. */
  connected(connected: boolean): void
  /** Runs `last`; `first` does not run again. */
  close(): void
}

/** `first` runs when somebody starts to watch and nobody did, `last` when nobody does any more. */
export function createWatchers(hooks: { readonly first: () => void; readonly last: () => void }): Watchers {
  const watchers = new Set<Watcher>()
  let isConnected = false
  let isClosed = false

  function tellAll(tell: (watcher: Watcher) => void): void {
    for (const watcher of [...watchers]) callHost('A watch', () => tell(watcher))
  }

  return {
    watch(topic, changed, connection) {
      const watcher: Watcher = { topic, changed, connection }
      watchers.add(watcher)
      connection?.(watchers.size > 1 && isConnected)
      if (watchers.size === 1) {
        isConnected = false
        if (!isClosed) hooks.first()
      }
      return () => {
        if (watchers.delete(watcher) && watchers.size === 0) hooks.last()
      }
    },
    changed(topic, id) {
      tellAll((watcher) => {
        if (watcher.topic === topic) return watcher.changed(id === '' ? undefined : id)
      })
    },
    changedAll() {
      tellAll((watcher) => watcher.changed())
    },
    connected(connected) {
      if (connected === isConnected) return
      isConnected = connected
      tellAll((watcher) => watcher.connection?.(connected))
    },
    close() {
      isClosed = true
      hooks.last()
    },
  }
}
