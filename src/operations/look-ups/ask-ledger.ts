import type { ErrorCode } from '../../base/errors.js'
import type { LedgerLookUps, LimitCount, Spent, SpentQuery } from '../../contracts/look-ups.js'
import type { Limit } from '../../contracts/usage-limits.js'
import type { LazyContext } from '../../engine/asking/lazy-context.js'
import { askStore } from '../../engine/asking/stores.js'
import type { CallerLimits } from '../../engine/charging/caller-limits.js'
import type { Engine } from '../../engine/engine.js'
import { faultyStore } from '../../engine/failures/store-failures.js'
import { isOwnLimit } from '../../rules/own-limit.js'

/** The error codes of every look-up. Limits on calls do not apply to look-ups. */
export const LOOK_UP_CODES: readonly ErrorCode[] = [
  'missing_credential',
  'invalid_api_key',
  'expired_credential',
  'revoked_credential',
  'origin_not_allowed',
  'account_suspended',
  'rate_limited',
  'internal_error',
  'overloaded',
  'credential_store_unavailable',
  'ledger_unavailable',
  'shutting_down',
]

/** A limit of the caller, with its count in the current period. */
export interface CountOfLimit extends LimitCount {
  readonly definition: Limit
}

/** Asks the ledger for the amounts spent. Throws if it does not answer with amounts. */
export async function readSpent(
  { options }: Engine,
  lookUps: LedgerLookUps,
  query: SpentQuery,
  context: LazyContext,
): Promise<Spent> {
  const spent = await askStore('ledger', options, context, () => lookUps.spent(query, context))
  const { available, held, posted } = spent?.balance ?? {}
  const amounts: readonly unknown[] = [
    ...[available, held, posted],
    ...[spent?.total, spent?.today, spent?.week, spent?.month],
  ]
  if (amounts.every((amount) => typeof amount === 'bigint')) return spent
  const why = 'spent() did not return { balance, total, today, week, month } with amounts as bigint'
  throw faultyStore('ledger', options, context.requestId, why)
}

/** Asks the ledger for the counts of the caller's limits. Throws if it does not answer with all of them. */
export async function readCounts(
  { options }: Engine,
  lookUps: LedgerLookUps,
  limits: CallerLimits | undefined,
  context: LazyContext,
): Promise<readonly CountOfLimit[]> {
  if (limits === undefined) return []
  const asked = limits.counted()
  const counts = await askStore('ledger', options, context, () => lookUps.limitCounts(asked, context))
  const areAll =
    Array.isArray(counts) &&
    counts.length === asked.length &&
    asked.every(({ bucket }, position) => isCount(counts[position], bucket))
  if (areAll) return counts.map((count, position) => ({ ...count, definition: limits.limits[position]! }))
  const why = 'limitCounts() did not return bucket, used, held, left and resetMs of each limit, in order'
  throw faultyStore('ledger', options, context.requestId, why)
}

function isCount(count: LimitCount | undefined, bucket: string): boolean {
  return (
    typeof count === 'object' &&
    count !== null &&
    count.bucket === bucket &&
    [count.used, count.held, count.left].every((amount) => typeof amount === 'bigint') &&
    Number.isFinite(count.resetMs)
  )
}

/** Returns the count of this unit with the least left among the caller's own limits. */
export function tightest(counts: readonly CountOfLimit[], unit: Limit['unit']): CountOfLimit | undefined {
  let found: CountOfLimit | undefined
  for (const count of counts) {
    const { definition } = count
    if (definition.unit !== unit || !isOwnLimit(definition)) continue
    if (found === undefined || count.left < found.left) found = count
  }
  return found
}
