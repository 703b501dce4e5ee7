import type { Watch } from '../contracts/index.js'

/** Those who want to hear of changes. */
export interface Watchers {
  readonly watch: Watch
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
    notify(id) {
      for (const listener of [...listeners]) listener.changed(id)
    },
  }
}
