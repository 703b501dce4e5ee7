import type { SqlDatabase } from './database.js'

interface Watcher {
  readonly topic: string
  readonly changed: (id?: string) => void
  readonly connection: ((connected: boolean) => void) | undefined
}

/** The listeners for changes, by topic. */
export interface Watchers {
  readonly watch: SqlDatabase['watch']
  /** Reports that a row has changed. An empty id stands for all rows. */
  changed(topic: string, id: string): void
  /** Reports that changes were missed, so that any row may have changed. */
  changedAll(): void
  /** Reports the connection's state to all watchers if it has changed. */
  connected(connected: boolean): void
  /** Calls `last`. After that, `first` is not called again. */
  close(): void
}

/** `first` runs when the first watch starts, `last` when the last one ends. */
export function createWatchers(hooks: { readonly first: () => void; readonly last: () => void }): Watchers {
  const watchers = new Set<Watcher>()
  let isConnected = false
  let isClosed = false

  function notifyAll(notify: (watcher: Watcher) => void): void {
    for (const watcher of [...watchers]) callHost('A watch', () => notify(watcher))
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
      notifyAll((watcher) => {
        if (watcher.topic === topic) return watcher.changed(id === '' ? undefined : id)
      })
    },
    changedAll() {
      notifyAll((watcher) => watcher.changed())
    },
    connected(connected) {
      if (connected === isConnected) return
      isConnected = connected
      notifyAll((watcher) => watcher.connection?.(connected))
    },
    close() {
      isClosed = true
      hooks.last()
    },
  }
}

/**
 * Calls a function of the host and ignores its result. If it throws or rejects, emits a process warning: the error must
 * neither end the process nor keep other listeners from being called.
 */
export function callHost(name: string, call: () => unknown): void {
  try {
    const result = call()
    if (result instanceof Promise) result.catch((error: unknown) => warn(name, error))
  } catch (error) {
    warn(name, error)
  }
}

function warn(name: string, error: unknown): void {
  const why = error instanceof Error ? `: ${error.name}: ${error.message}` : ''
  process.emitWarning(`${name} of compat-router's durable stores failed${why}`)
}
