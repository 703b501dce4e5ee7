import type { Watch } from '../contracts/index.js'
import { tellAll } from '../contracts/tell-all.js'

/** The changes that a store reports, told first to its cache and then to whoever watches the cache. */
export interface Changes {
  readonly watch: Watch
  /** Reports a change that the store has not. */
  announce(id?: string): void
  /** Ends the watch of the store. */
  close(): void
}

interface Watcher {
  changed(id?: string): void
  connection(connected: boolean): void
}

/** `own` is the cache, which always hears first. Throws a `TypeError` where what `watchStore` returns ends no watch. */
export function followChanges(watchStore: Watch | undefined, own: Watcher): Changes {
  const watchers = new Set<Watcher>()

  function announce(id?: string): void {
    own.changed(id)
    tellAll(watchers, (watcher) => watcher.changed(id))
  }

  function connection(connected: boolean): void {
    own.connection(connected)
    tellAll(watchers, (watcher) => watcher.connection(connected))
  }

  const end = watchStore?.(announce, connection)
  if (end !== undefined && typeof end !== 'function') {
    throw new TypeError(
      "watch of a cache's store must return a function that ends it, and no promise of one.",
    )
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
