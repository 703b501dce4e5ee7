import { LRUCache } from 'lru-cache'
import { isWorker } from '../base/runtime.js'
import type { Awaitable, CallContext } from '../contracts/index.js'
import { isPromise } from './frozen-copy.js'
import type { CacheOptions } from './options.js'
import { LoadContext, SharedLoad } from './shared-load.js'

/** Asks the store for an answer. */
export type Load<Value> = (context: CallContext) => Awaitable<Value>

/** How a cache keeps an answer. */
export type Kept =
  /** Kept for `ttlMs`, at most until `expiresAt`. Dropped when `id` changes. */
  | { readonly as: 'positive'; readonly id: string; readonly expiresAt?: number | undefined }
  /** Kept for a second in a separate cache. Dropped when anything changes. */
  | { readonly as: 'negative' }

export interface LoadingCache<Value> {
  /** Returns the answer kept under this key, or calls `load`. Callers that arrive during a load share it. */
  get(key: string, context: CallContext, load: Load<Value>): Awaitable<Value>
  /** Drops the answers with this id, or all. Loads in progress are neither kept nor shared with later callers. */
  drop(id?: string): void
}

interface Entry<Value> {
  readonly value: Value
  readonly id: string
  readonly expiresAt: number
}

const NEGATIVE_TTL_MS = 1_000
const NEGATIVE_ENTRIES = 1_000

/** Errors and late answers are never kept, and no answer is served after it has expired. */
export function createLoadingCache<Value>(
  keep: (value: Value) => Kept,
  { ttlMs, maxEntries, loadMs, clock }: Required<CacheOptions>,
): LoadingCache<Value> {
  const keysById = new Map<string, Set<string>>()
  // lru-cache reads a start time of 0 as no start time, so the clock is one ahead.
  const timed = { perf: { now: () => clock.now() + 1 }, ttlResolution: 0 }
  const positives = new LRUCache<string, Entry<Value>>({
    ...timed,
    ttl: ttlMs,
    max: maxEntries,
    dispose: ({ id }, key) => forgetKey(id, key),
  })
  const negatives = new LRUCache<string, { readonly value: Value }>({
    ...timed,
    ttl: NEGATIVE_TTL_MS,
    max: NEGATIVE_ENTRIES,
  })
  const loads = new Map<string, SharedLoad<Value>>()
  // On a Worker, a load ends with the call that began it.
  const isShared = !isWorker()
  let lastLookAt = Number.NEGATIVE_INFINITY

  function forgetKey(id: string, key: string): void {
    const keys = keysById.get(id)
    keys?.delete(key)
    if (keys?.size === 0) keysById.delete(id)
  }

  function store(key: string, value: Value): void {
    let kept: Kept
    try {
      kept = keep(value)
    } catch {
      // A faulty answer is not kept, but the caller still gets it.
      return
    }
    if (kept.as === 'negative') {
      negatives.set(key, { value })
      return
    }
    const { id, expiresAt = Number.POSITIVE_INFINITY } = kept
    const ttl = Math.min(ttlMs, expiresAt - clock.now())
    if (ttl <= 0) return
    positives.set(key, { value, id, expiresAt }, { ttl })
    const keys = keysById.get(id)
    if (keys === undefined) keysById.set(id, new Set([key]))
    else keys.add(key)
  }

  function share(key: string, answer: Promise<Value>, context: LoadContext): SharedLoad<Value> {
    const loading = new SharedLoad(answer, context, { loadMs, clock })
    loads.set(key, loading)
    const takeOff = (): boolean => loads.get(key) === loading && loads.delete(key)
    loading.answer.then(
      (value) => {
        if (takeOff()) store(key, value)
      },
      () => takeOff(),
    )
    return loading
  }

  function drop(id?: string): void {
    loads.clear()
    negatives.clear()
    if (id === undefined) positives.clear()
    else for (const key of [...(keysById.get(id) ?? [])]) positives.delete(key)
  }

  return {
    get(key, context, load) {
      const now = clock.now()
      // If the clock was set back, everything kept would last longer.
      if (now < lastLookAt) drop()
      lastLookAt = now
      const hit = positives.get(key)
      if (hit !== undefined && hit.expiresAt > now) return hit.value
      const miss = negatives.get(key)
      if (miss !== undefined) return miss.value
      const shared = isShared ? loads.get(key) : undefined
      if (shared !== undefined && !shared.isAbandoned) return shared.waitFor(context.signal)
      // The caller has left, so the store is not asked.
      if (context.signal.aborted) return Promise.reject(context.signal.reason)
      const loadContext = new LoadContext(context.requestId)
      let answer: Awaitable<Value>
      try {
        answer = load(loadContext)
      } catch (error) {
        return Promise.reject(error)
      }
      if (isPromise(answer)) return share(key, answer, loadContext).waitFor(context.signal)
      store(key, answer)
      return answer
    },
    drop,
  }
}
