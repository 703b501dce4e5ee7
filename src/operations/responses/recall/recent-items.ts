import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../base/clock.js'
import type { MemoryBudget } from '../../../base/memory-budget.js'
import type { Principal } from '../../../contracts/credentials.js'
import type { JsonObject } from '../../../protocol/json-values.js'
import { jsonBytes, type WireBytes } from '../../../protocol/wire-bytes.js'

/** How much of recent replies is kept, and for how long. */
export interface RecallBounds {
  /** The maximum size of all items together. */
  readonly maxBytes: number
  /** How long an item is kept after its last use. */
  readonly ttlMs: number
}

interface Entry {
  readonly account: string
  /** The item as JSON, in the least memory. */
  readonly json: WireBytes
  readonly bytes: number
}

interface Share {
  bytes: number
  /** Least recently used first. */
  readonly keys: Set<string>
}

const ITEM_MAX_BYTES = 1_024 * 1_024
/** The approximate size of an entry besides its JSON. */
const ENTRY_BYTES = 512
/** An account may use a quarter of the whole. */
const ACCOUNT_SHARE = 4
const PURGE_EVERY_MS = 60_000

/**
 * The items of recent replies. They stay in memory only, while running calls leave room. Each can be found by the
 * account and the app whose call it answered.
 */
export class RecentItems {
  private readonly entries: LRUCache<string, Entry>
  private readonly shares = new Map<string, Share>()
  private readonly accountMaxBytes: number
  private cancelPurge: (() => void) | undefined

  constructor(
    { maxBytes, ttlMs }: RecallBounds,
    private readonly clock: Pick<Clock, 'after' | 'now'>,
    private readonly memory: Pick<MemoryBudget, 'give' | 'take' | 'whenFull'>,
  ) {
    memory.whenFull((bytes) => this.dropOldest(bytes))
    this.accountMaxBytes = Math.floor(maxBytes / ACCOUNT_SHARE)
    this.entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }) => bytes,
      ttl: ttlMs,
      updateAgeOnGet: true,
      // lru-cache takes a start time of 0 for none, so its clock runs one ahead.
      perf: { now: () => clock.now() + 1 },
      ttlResolution: 0,
      dispose: (entry, key) => this.leave(key, entry),
    })
  }

  /** Returns the items that one caller can find. */
  of(principal: Principal): CallersItems {
    const app = principal.kind === 'access-token' ? principal.app.id : null
    return new CallersItems(this, principal.account, app)
  }

  /** Keeps an item, unless it is too large. */
  keep(key: string, account: string, item: JsonObject): void {
    const json = jsonBytes(item)
    const bytes = ENTRY_BYTES + key.length + json.length
    if (json.length > ITEM_MAX_BYTES || bytes > this.accountMaxBytes) return
    this.entries.delete(key)
    let share = this.shares.get(account)
    for (const oldest of share?.keys ?? []) {
      if (share!.bytes + bytes <= this.accountMaxBytes) break
      this.entries.delete(oldest)
    }
    if (!this.memory.take(bytes)) return
    this.entries.set(key, { account, json, bytes })
    share = this.shares.get(account)
    if (share === undefined) {
      share = { bytes: 0, keys: new Set() }
      this.shares.set(account, share)
    }
    share.bytes += bytes
    share.keys.add(key)
    this.purgeLater()
  }

  /** Returns the JSON of an item. Undefined if it was never kept or is gone. */
  find(key: string): WireBytes | undefined {
    const entry = this.entries.get(key)
    if (entry === undefined) return undefined
    const { keys } = this.shares.get(entry.account)!
    keys.delete(key)
    keys.add(key)
    return entry.json
  }

  /** Forgets everything and stops the timer. */
  clear(): void {
    this.entries.clear()
    this.cancelPurge?.()
    this.cancelPurge = undefined
  }

  private dropOldest(bytes: number): void {
    let dropped = 0
    while (dropped < bytes && this.entries.size > 0) dropped += this.entries.pop()?.bytes ?? 0
  }

  /** Frees expired items even if no new ones are kept. */
  private purgeLater(): void {
    if (this.cancelPurge !== undefined) return
    const purge = (): void => {
      this.cancelPurge = undefined
      this.entries.purgeStale()
      if (this.entries.size > 0) this.purgeLater()
    }
    this.cancelPurge = this.clock.after(PURGE_EVERY_MS, purge, 'background')
  }

  private leave(key: string, { account, bytes }: Entry): void {
    const share = this.shares.get(account)
    this.memory.give(bytes)
    if (share === undefined) return
    share.keys.delete(key)
    share.bytes -= bytes
    if (share.keys.size === 0) this.shares.delete(account)
  }
}

/** The recent items of one account and app. */
export class CallersItems {
  constructor(
    private readonly all: RecentItems,
    private readonly account: string,
    private readonly app: string | null,
  ) {}

  /** Keeps an item under its id, if it has one. An item that JSON cannot represent is not kept. */
  keep(id: string, read: () => JsonObject | undefined): void {
    try {
      const item = read()
      if (item !== undefined) this.all.keep(this.keyOf(id), this.account, item)
    } catch {
      // An adapter may pass a BigInt. Failing to remember an item must not fail the reply.
    }
  }

  /** Returns the JSON of an item. Undefined if it was never kept or is gone. */
  find(id: string): WireBytes | undefined {
    return this.all.find(this.keyOf(id))
  }

  private keyOf(id: string): string {
    return JSON.stringify([this.account, this.app, id])
  }
}
