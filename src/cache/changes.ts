import { tellAll } from '../base/tell-all.js'
import type { Watch } from '../contracts/index.js'

/** Passes the changes that a store reports to its cache first, and then to the watchers of the cache. */
export interface Changes {
  readonly watch: Watch
  /** Reports a change that the store has not reported. */
  announce(id?: string): void
  /** Ends the watch of the store. */
  close(): void
}

interface Watcher {
  changed(id?: string): void
  connection(connected: boolean): void
}

/** `cache` is called before the watchers. Throws a `TypeError` if `watchStore` returns something other than a function. */
export function followChanges(watchStore: Watch | undefined, cache: Watcher): Changes {
  const watchers = new Set<Watcher>()

  function announce(id?: string): void {
    cache.changed(id)
    tellAll(watchers, (watcher) => watcher.changed(id))
  }

  function connection(connected: boolean): void {
    cache.connection(connected)
    tellAll(watchers, (watcher) => watcher.connection(connected))
  }

  const end = watchStore?.(announce, connection)
  if (end !== undefined && typeof end !== 'function') {
    throw new TypeError("watch of a cache's store must return a function that ends the watch, not a promise.")
  }
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
