import { setTimeout as delay } from 'node:timers/promises'
import { outOfRange } from '../base/invalid-input.js'
import type { CallContext, LedgerStore } from '../contracts/index.js'
import { idSchema, parseField } from '../rules/schemas.js'
import type { SqlDatabase } from '../sql/database.js'
import { HOLD_STATE } from '../sql/hold-states.js'
import { bindingOf } from '../sql/route-rows.js'
import type { SecretBox } from '../sql/secret-box.js'
import { clearTotals, foldAccounts, foldTotals } from '../sql/totals.js'
import { freeHold, type OpenHold, type OpenHoldsQuery, readOpenHolds } from './holds.js'
import { readRoutes } from './routes.js'
import { type Discrepancy, MIN_PRUNE_DAYS, readDiscrepancies } from './verify.js'
import { type VerifiedDays, type VerifyDaysQuery, verifyDays } from './verify-days.js'

export interface MaintenanceAdmin {
  /**
   * Compares every balance and every entry with its postings, and each account's reserved credit with its open holds,
   * in one snapshot. Compares the running period of every limit with its calls. Finds missing rows as well as wrong
   * ones. Returns at most 1,000 differences. Returns none if the ledger is correct.
   */
  verify(): Promise<readonly Discrepancy[]>
  /**
   * Verifies the entries, postings and totals of the days in UTC that have been over for an hour, from the one after the last
   * that was sound, and then all balances and reserved credit. Each day is a step of its own: if the process ends or `signal`
   * is aborted, the next call continues. It does not compare limits.
   */
  verifyDays(query?: VerifyDaysQuery): Promise<VerifiedDays>
  /**
   * Deletes holds that ended more than this many days ago (at least 30), with their claims, a few thousand at a time.
   * Keeps entries. A settlement repeated after that would post again. Returns the number of deleted holds.
   */
  pruneHolds(olderThanDays: number): Promise<number>
  /** Returns the calls in flight in all processes, by the credit reserved for them. */
  openHolds(query?: OpenHoldsQuery): Promise<readonly OpenHold[]>
  /**
   * Releases an open hold by hand, and with it the `Idempotency-Key` of its call. If the call is still running, it is
   * charged anyway, even below zero. Rejects with a `Refusal` if the hold is not open.
   */
  freeHold(holdId: string): Promise<void>
  /** Adds up all entries again for the totals from which reports are read. Reports are right meanwhile, but take longer. */
  rebuildTotals(): Promise<void>
  /** Seals every secret again that is not sealed under the first of `secretKeys`. Returns the number of these secrets. */
  rotateSecrets(): Promise<number>
}

const DAY_MS = 86_400_000
const PAGE_ROWS = 5_000
/** How long another process may take for one round of adding to the totals. */
const BUSY_MS = 100

export function createMaintenanceAdmin(
  database: SqlDatabase,
  secrets: SecretBox,
  ledger: Pick<LedgerStore, 'release'>,
  context: CallContext,
): MaintenanceAdmin {
  return {
    verify: () => readDiscrepancies(database),
    verifyDays: (query) => verifyDays(database, query),

    async pruneHolds(olderThanDays) {
      if (!(olderThanDays >= MIN_PRUNE_DAYS)) {
        throw outOfRange(
          { field: 'olderThanDays' },
          `must be at least ${MIN_PRUNE_DAYS}, since ended holds are kept for at least ${MIN_PRUNE_DAYS} days; got ${String(olderThanDays)}`,
        )
      }
      const ageMs = BigInt(Math.min(Math.ceil(olderThanDays * DAY_MS), Number.MAX_SAFE_INTEGER))
      let count = 0
      let last = ''
      for (;;) {
        // One page of ids at a time, so that no call waits long for the lock.
        const page = await database.all({
          text: `select max(id) as last, count(*) as rows
            from (select id from {holds} where id > ?1 order by id limit ${PAGE_ROWS}) page`,
          parameters: [last],
        })
        const next = page[0]?.last
        if (typeof next !== 'string') return count
        const gone = `id > ?1 and id <= ?2 and state <> ${HOLD_STATE.open} and ended_at < ${database.now} - cast(?3 as bigint)`
        const [, removed = []] = await database.batch([
          {
            text: `delete from {claims} where hold_id in (select id from {holds} where ${gone})`,
            parameters: [last, next, ageMs],
          },
          { text: `delete from {holds} where ${gone} returning id`, parameters: [last, next, ageMs] },
        ])
        count += removed.length
        last = next
      }
    },

    openHolds: (query = {}) => readOpenHolds(database, query),
    freeHold: async (holdId) => freeHold(database, ledger, parseField(idSchema, holdId, 'holdId'), context),
    async rebuildTotals() {
      await clearTotals(database)
      for (const fold of [async () => (await foldTotals(database)).state, () => foldAccounts(database)]) {
        let state = await fold()
        while (state !== 'done') {
          if (state === 'busy') await delay(BUSY_MS)
          state = await fold()
        }
      }
    },
    rotateSecrets: () => rotateSecrets(database, secrets),
  }
}

/** Seals every secret again that is not sealed under the current key. Returns their number. */
async function rotateSecrets(database: SqlDatabase, secrets: SecretBox): Promise<number> {
  let count = 0
  for (const { id, modelId, definition, secret } of await readRoutes(database, {})) {
    if (secret === undefined || secrets.isCurrent(secret.keyId)) continue
    const binding = bindingOf(id, definition)
    const sealed = secrets.seal(secrets.open(secret, binding).reveal(), binding)
    // If the secret was changed in the meantime, it is sealed under the current key already.
    const [rotated] = await database.batch([
      {
        text: 'update {routes} set secret_key_id = ?1, secret = ?2 where id = ?3 and secret = ?4 returning id',
        parameters: [sealed.keyId, sealed.sealed, id, secret.sealed],
      },
      database.change('routes', modelId),
    ])
    count += rotated!.length
  }
  return count
}
