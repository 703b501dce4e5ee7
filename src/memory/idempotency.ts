import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { type Clock, systemClock } from '../base/clock.js'
import type { IdempotencyState, IdempotencyStore, StoredReply } from '../contracts/index.js'
import { bodyBytesOf } from '../rules/body-bytes.js'
import { optionsSchema, readOptions, withMethods } from '../rules/read-options.js'

export interface MemoryIdempotencyOptions {
  /** The maximum size of the store in bytes. Beyond it, the least recently used reply is dropped. 64 MiB by default. */
  readonly maxBytes?: number
  /** The system's clock by default. */
  readonly clock?: Clock
}

interface Row {
  readonly account: string
  readonly digest: string
  readonly bytes: number
  readonly reply: StoredReply | undefined
}

const DEFAULT_MAX_BYTES = 64 * 1_024 * 1_024
const ENTRY_MAX_BYTES = 4 * 1_024 * 1_024
/** The approximate size of a row without the body of its reply. */
const ROW_BYTES = 1_024
const ACCOUNT_SHARE = 10

const idempotencySchema = optionsSchema<MemoryIdempotencyOptions>({
  maxBytes: z
    .int()
    .min(ROW_BYTES * ACCOUNT_SHARE)
    .optional(),
  clock: withMethods<Clock>('now').optional(),
})

/**
 * Replies of calls with an `Idempotency-Key`, in memory.
 *
 * An account may use a tenth of the store. If a body is over 4 MiB or exceeds that share, only its charge is kept. If the
 * charge exceeds the share too, the account's oldest replies are dropped. A call whose reply was dropped is still not
 * charged twice, because the ledger knows its claim.
 *
 * @example
 * ```ts
 * const idempotency = { store: memoryIdempotency({ maxBytes: 256 * 2 ** 20 }) }
 * const router = createCompatRouter({ ...options, idempotency })
 * ```
 */
export function memoryIdempotency(options: MemoryIdempotencyOptions = {}): IdempotencyStore {
  const { maxBytes = DEFAULT_MAX_BYTES, clock = systemClock } = readOptions(
    idempotencySchema,
    options,
    'memoryIdempotency',
  )
  const accountMaxBytes = Math.floor(maxBytes / ACCOUNT_SHARE)
  const shares = new Map<string, Share>()
  const rows = new LRUCache<string, Row>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => bytes,
    // lru-cache reads a start time of 0 as no start time, so the clock is one ahead.
    perf: { now: () => clock.now() + 1 },
    ttlResolution: 0,
    dispose: (row, claim) => leave(claim, row),
  })

  function leave(claim: string, { account, bytes }: Row): void {
    const share = shares.get(account)
    if (share === undefined) return
    share.claims.delete(claim)
    share.bytes -= bytes
    if (share.claims.size === 0) shares.delete(account)
  }

  function put(claim: string, row: Row, ttlMs: number): void {
    rows.delete(claim)
    for (const oldest of shares.get(row.account)?.claims ?? []) {
      if (shareBytes(row.account) + row.bytes <= accountMaxBytes) break
      rows.delete(oldest)
    }
    rows.set(claim, row, { ttl: Math.max(1, ttlMs) })
    const share = shares.get(row.account) ?? { bytes: 0, claims: new Set() }
    share.bytes += row.bytes
    share.claims.add(claim)
    shares.set(row.account, share)
  }

  function shareBytes(account: string): number {
    return shares.get(account)?.bytes ?? 0
  }

  function dropExpired(account: string): void {
    for (const oldest of shares.get(account)?.claims ?? []) {
      if (rows.has(oldest)) return
      rows.delete(oldest)
    }
  }

  function fits({ account, bytes }: Row, bodyBytes: number): boolean {
    return (
      bodyBytes <= ENTRY_MAX_BYTES && shareBytes(account) - bytes + ROW_BYTES + bodyBytes <= accountMaxBytes
    )
  }

  return {
    async claim({ claim, account, digest, leaseMs }): Promise<IdempotencyState> {
      const row = rows.get(claim)
      if (row === undefined) {
        put(claim, { account, digest, bytes: ROW_BYTES, reply: undefined }, leaseMs)
        return { state: 'mine' }
      }
      if (row.digest !== digest) return { state: 'mismatch' }
      return row.reply === undefined ? { state: 'in-flight' } : { state: 'done', reply: copyReply(row.reply) }
    },
    async complete(claim, reply, ttlMs) {
      const row = rows.get(claim)
      if (row === undefined) return
      const bodyBytes = bodyBytesOf(reply)
      dropExpired(row.account)
      const isKept = fits(row, bodyBytes)
      put(
        claim,
        {
          ...row,
          bytes: isKept ? ROW_BYTES + bodyBytes : ROW_BYTES,
          reply: isKept ? copyReply(reply) : withoutBody(reply),
        },
        ttlMs,
      )
    },
    async abandon(claim) {
      if (rows.peek(claim)?.reply === undefined) rows.delete(claim)
    },
  }
}

interface Share {
  bytes: number
  /** Oldest first. */
  readonly claims: Set<string>
}

function copyReply(reply: StoredReply): StoredReply {
  return { ...reply, charge: { ...reply.charge, usage: { ...reply.charge.usage } } }
}

function withoutBody(reply: StoredReply): StoredReply {
  const { bytes: _, ...rest } = copyReply(reply)
  return rest
}
