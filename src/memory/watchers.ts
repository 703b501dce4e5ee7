import { tellAll } from '../base/tell-all.js'
import type { Watch } from '../contracts/index.js'

/** The listeners of a store that reports its changes. */
export interface Watchers {
  readonly watch: Watch
  /** Calls every listener, then throws the first error that a listener threw. */
  notify(id: string): void
}

export function createWatchers(): Watchers {
  const listeners = new Set<{ changed: (id?: string) => void }>()
  return {
    watch(changed) {
      const listener = { changed }
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    notify: (id) => tellAll(listeners, ({ changed }) => changed(id)),
  }
}
