import type { CatalogueStore, Model, Watch } from '../contracts/index.js'
import { requireMethods } from '../contracts/option-checks.js'
import { followChanges } from './changes.js'
import { frozenCopyOf } from './frozen-copy.js'
import { createLoadingCache, type Kept } from './loading-cache.js'
import { type CacheOptions, readCacheOptions } from './options.js'

export interface CachedCatalogue extends CatalogueStore {
  /** Reports what the store reports, and what `invalidate` was told, once the cache has dropped it. */
  readonly watch: Watch
  /** Drops a model and the list, or everything, also while it is being loaded. */
  invalidate(modelId?: string): void
  /** Ends the watch of the store. Closes nothing else. */
  close(): void
}

const LIST = 'list'

/**
 * Spares a catalogue most of its look-ups, as {@link cachedCredentials} does a credential store: the list and each
 * model for `ttlMs`, an unknown id for a second in a cache of its own of 1,000.
 */
export function cachedCatalogue(store: CatalogueStore, options: CacheOptions = {}): CachedCatalogue {
  requireMethods('cachedCatalogue: store', store, ['list', 'get'])
  const read = readCacheOptions(options, 'cachedCatalogue')
  const models = createLoadingCache(keepModel, read)
  const list = createLoadingCache<readonly Model[]>(keepList, { ...read, maxEntries: 1 })
  const changes = followChanges(store.watch?.bind(store), {
    changed(id) {
      models.drop(id)
      list.drop()
    },
    connection() {
      models.drop()
      list.drop()
    },
  })
  return {
    list: (context) => list.get(LIST, context, (loadContext) => frozenCopyOf(store.list(loadContext))),
    get: (id, context) => models.get(id, context, (loadContext) => frozenCopyOf(store.get(id, loadContext))),
    watch: changes.watch,
    invalidate: changes.announce,
    close: changes.close,
  }
}

function keepModel(model: Model | undefined): Kept {
  return model === undefined ? { as: 'negative' } : { as: 'positive', id: model.id }
}

function keepList(): Kept {
  return { as: 'positive', id: LIST }
}
