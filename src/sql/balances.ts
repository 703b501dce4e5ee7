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

/** Reads the balance from a row that has `posted`, and {@link heldOf} as `held`. */
export function readBalance(row: Row): Balance {
  const posted = readBigint(row, 'posted')
  const held = readBigint(row, 'held')
  return { posted, held, available: posted - held }
}
