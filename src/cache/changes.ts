import type { Watch } from '../contracts/index.js'

/** The changes that a store reports, told first to its cache and then to whoever watches the cache. */
export interface Changes {
  readonly watch: Watch
  /** Reports a change that the store has not. */
  announce(id?: string): void
  /** Ends the watch of the store. */
  close(): void
}

/** `own` is the cache, which always hears first. */
export function followChanges(
  watchStore: Watch | undefined,
  own: { changed(id?: string): void; connection(connected: boolean): void },
): Changes {
  const watchers = new Set<{ changed: (id?: string) => void; connection: (connected: boolean) => void }>()

  function announce(id?: string): void {
    own.changed(id)
    for (const watcher of [...watchers]) watcher.changed(id)
  }

  function connection(connected: boolean): void {
    own.connection(connected)
    for (const watcher of [...watchers]) watcher.connection(connected)
  }

  const end = watchStore?.(announce, connection)
  return {
    watch(changed, onConnection = () => {}) {
      const watcher = { changed, connection: onConnection }
      watchers.add(watcher)
      return () => {
        watchers.delete(watcher)
      }
    },
    announce,
    close() {
      end?.()
      connection(false)
      watchers.clear()
    },
  }
}
