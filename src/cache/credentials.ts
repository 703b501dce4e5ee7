import { hash } from 'node:crypto'
import type { CredentialResult, CredentialStore, Watch } from '../contracts/index.js'
import { requireMethods } from '../contracts/option-checks.js'
import { followChanges } from './changes.js'
import { frozenCopyOf } from './frozen-copy.js'
import { createLoadingCache, type Kept } from './loading-cache.js'
import { type CacheOptions, readCacheOptions } from './options.js'

export interface CachedCredentials extends CredentialStore {
  /** Reports what the store reports, and what `invalidate` was told, once the cache has dropped it. */
  readonly watch: Watch
  /** Drops a credential, or all, also while they are being loaded. */
  invalidate(credentialId?: string): void
  /** Ends the watch of the store; from then on nothing is cached. Closes nothing else. */
  close(): void
}

/**
 * Spares a credential store most of its look-ups.
 *
 * Keys are SHA-256 digests, never tokens. An answer lives for `ttlMs`, at most until its `expiresAt`; a refusal for a
 * second, in a cache of its own of 1,000. Callers who ask for one token at once share one look-up, which goes on when
 * one of them leaves and has a deadline of its own; once all have left, the store's signal aborts. A throw reaches those who wait and is never kept. While the
 * store's watch is disconnected every call goes to the store.
 */
export function cachedCredentials(store: CredentialStore, options: CacheOptions = {}): CachedCredentials {
  requireMethods('cachedCredentials: store', store, ['resolve'])
  const cache = createLoadingCache(keep, readCacheOptions(options, 'cachedCredentials'))
  let isConnected = true
  const changes = followChanges(store.watch?.bind(store), {
    changed: cache.drop,
    connection(connected) {
      isConnected = connected
      cache.drop()
    },
  })
  return {
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
