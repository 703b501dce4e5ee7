import type { Limit } from '../contracts/index.js'
import { readOptionalText } from './cells.js'
import type { Row, SqlDatabase, Statement } from './database.js'

/** A limit as JSON, with its amount as text. */
type LimitDefinition = Omit<Limit, 'amount'> & { readonly amount: string }

export function toLimitCell({ amount, ...limit }: Limit): string {
  const definition: LimitDefinition = { ...limit, amount: amount.toString() }
  return JSON.stringify(definition)
}

/** Returns the statement that gives a credential a limit. It has no effect if there is no such credential. */
export function insertLimit({ now }: SqlDatabase, limit: Limit, credentialId: string): Statement {
  return {
    text: `insert into {limits} (id, owner_kind, owner_id, definition, created_at)
      select ?1, 'credential', c.id, ?3, ${now} from {credentials} c where c.id = ?2`,
    parameters: [limit.id, credentialId, toLimitCell(limit)],
  }
}

/**
 * SQL for the definitions of all limits of the credential `c`, of the connected app that it is a session of, of its
 * account and of its app, joined by commas.
 */
export function limitsOf({ engine }: SqlDatabase): string {
  const join = engine === 'postgres' ? 'string_agg' : 'group_concat'
  return `(select ${join}(l.definition, ',') from {limits} l
    where l.owner_id in (c.id, c.parent_id, c.account, c.app_id) and (
      (l.owner_kind = 'credential' and l.owner_id in (c.id, c.parent_id))
      or (l.owner_kind = 'account' and l.owner_id = c.account)
      or (l.owner_kind = 'app' and l.owner_id = c.app_id)
    ))`
}

/** Reads limits from such a column, in the order of their ids. */
export function readLimits(row: Row, column: string): readonly Limit[] {
  const joined = readOptionalText(row, column)
  if (joined === undefined) return []
  const definitions = JSON.parse(`[${joined}]`) as LimitDefinition[]
  return definitions
    .map(({ amount, ...limit }): Limit => ({ ...limit, amount: BigInt(amount) }))
    .sort((one, other) => (one.id < other.id ? -1 : 1))
}
