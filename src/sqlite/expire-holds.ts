import type { Row } from '../sql/database.js'
import { HOLD_STATE } from '../sql/hold-states.js'
import { createAccounts } from './accounts.js'
import type { Connection } from './connection.js'

/** Expires at most `limit` overdue holds and returns them. */
export function expireHolds(connection: Connection, limit: number): readonly Row[] {
  return connection.transaction(() => {
    const now = BigInt(Date.now())
    const accounts = createAccounts(connection, now)
    const due = connection
      .prepare(
        `select id, account, amount, facts from {holds} indexed by compat_holds_due
         where state = ${HOLD_STATE.open} and expires_at <= ?1 order by expires_at limit ?2`,
      )
      .rows([now, BigInt(limit)])
    const end = connection.prepare(
      `update {holds} set state = ${HOLD_STATE.expired}, ended_at = ?1 where id = ?2`,
    )
    for (const row of due) {
      end.run([now, row.id])
      accounts.change(row.account as string, 0n, -(row.amount as bigint))
    }
    accounts.write()
    return due
  })
}
