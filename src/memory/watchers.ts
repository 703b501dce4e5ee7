import type { Watch } from '../contracts/index.js'
import { tellAll } from '../contracts/tell-all.js'

/** Those who want to hear of changes. */
export interface Watchers {
  readonly watch: Watch
  /** Tells everybody, then throws the first error that one of them threw. */
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
