import { hash } from 'node:crypto'
import type { CredentialResult, CredentialStore, Watch } from '../contracts/index.js'
import { readOptions, withMethods } from '../rules/read-options.js'
import { followChanges } from './changes.js'
import { frozenCopyOf } from './frozen-copy.js'
import { createLoadingCache, type Kept } from './loading-cache.js'
import { type CacheOptions, readCacheOptions } from './options.js'

export interface CachedCredentials extends CredentialStore {
  /** Reports the changes that the store reports, and each `invalidate`, after the cache has dropped the entries. */
  readonly watch: Watch
  /** Drops a credential, or all of them. A load in progress is not kept either. */
  invalidate(credentialId?: string): void
  /** Ends the watch of the store. From then on nothing is cached. Closes nothing else. */
  close(): void
}

/**
 * Caches a credential store. Its keys are SHA-256 digests, never tokens.
 *
 * A credential is kept for `ttlMs`, at most until its `expiresAt`. Refusals are kept for a second, at most 1,000 of them,
 * in a separate cache. Concurrent callers with the same token share one look-up. It has its own deadline and continues if
 * one of them leaves. If all have left, the store's signal aborts. An error reaches the callers that wait and is never
 * kept. While the store's watch is disconnected, every call goes to the store.
 */
export function cachedCredentials(store: CredentialStore, options: CacheOptions = {}): CachedCredentials {
  readOptions(withMethods<CredentialStore>('resolve'), store, 'cachedCredentials', { field: 'store' })
  const cache = createLoadingCache(keep, readCacheOptions(options, 'cachedCredentials'))
  let isConnected = true
  const changes = followChanges(store.watch?.bind(store), {
    changed: cache.drop,
    connection(connected) {
      isConnected = connected
      cache.drop()
    },
  })
  const recognises = store.recognises?.bind(store)
  return {
    ...(recognises !== undefined && { recognises }),
    resolve(token, context) {
      if (!isConnected) return store.resolve(token, context)
      return cache.get(hash('sha256', token), context, (loadContext) =>
        frozenCopyOf(store.resolve(token, loadContext)),
      )
    },
    watch: changes.watch,
    invalidate: changes.announce,
    close: changes.close,
  }
}

function keep(result: CredentialResult): Kept {
  if (!result.ok) return { as: 'negative' }
  const { credentialId, expiresAt } = result.principal
  return { as: 'positive', id: credentialId, expiresAt }
}
