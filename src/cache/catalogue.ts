import type { CatalogueStore, Model, Watch } from '../contracts/index.js'
import { readOptions, withMethods } from '../rules/read-options.js'
import { followChanges } from './changes.js'
import { frozenCopyOf } from './frozen-copy.js'
import { createLoadingCache, type Kept } from './loading-cache.js'
import { type CacheOptions, readCacheOptions } from './options.js'

export interface CachedCatalogue extends CatalogueStore {
  /** Reports the changes that the store reports, and each `invalidate`, after the cache has dropped the entries. */
  readonly watch: Watch
  /** Drops a model and the list, or everything. A load in progress is not kept either. */
  invalidate(modelId?: string): void
  /** Ends the watch of the store. Closes nothing else. */
  close(): void
}

const LIST = 'list'

/**
 * Caches a catalogue, as {@link cachedCredentials} caches a credential store. The list and each model are kept for
 * `ttlMs`. Unknown ids are kept for a second, at most 1,000 of them, in a separate cache.
 */
export function cachedCatalogue(store: CatalogueStore, options: CacheOptions = {}): CachedCatalogue {
  readOptions(withMethods<CatalogueStore>('list', 'get'), store, 'cachedCatalogue', { field: 'store' })
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
