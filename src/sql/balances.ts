import type { Balance } from '../contracts/index.js'
import { readBigint } from './cells.js'
import type { Row, SqlDatabase } from './database.js'
import { HOLD_STATE } from './hold-states.js'

/** SQL for the amount that the account `a` has on hold, without overdue holds, which `a.held` includes until a sweep. */
export function heldOf({ now }: SqlDatabase): string {
  return `a.held - (
      select coalesce(sum(h.amount), 0) from {holds} h
      where h.account = a.id and h.state = ${HOLD_STATE.open} and h.expires_at <= ${now}
    )`
}

/**
 * SQL for the balance of the account `a`. On PostgreSQL, the earnings of an account are in slots of their own, so that
 * settlements of different payers do not wait for the row of the account that earns from all of them.
 */
export function postedOf({ engine }: SqlDatabase): string {
  return engine === 'sqlite'
    ? 'a.posted'
    : '(a.posted + (select coalesce(sum(e.amount), 0) from {earned} e where e.account = a.id))'
}

/** Reads the balance from a row that has {@link postedOf} as `posted`, and {@link heldOf} as `held`. */
export function readBalance(row: Row): Balance {
  const posted = readBigint(row, 'posted')
  const held = readBigint(row, 'held')
  return { posted, held, available: posted - held }
}
