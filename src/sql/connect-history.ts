import type { SqlDatabase, Statement } from './database.js'

/** The actor in the history if it is not an account. */
export const OPERATOR = 'operator'

/** The kinds of rows in `consents`. */
export type HistoryKind =
  | 'connected'
  | 'consented'
  | 'cap-changed'
  | 'device-added'
  | 'device-removed'
  | 'revoked'

export interface HistoryRow {
  readonly id: string
  readonly kind: HistoryKind
  readonly by: string
  /** As JSON. */
  readonly terms?: unknown
}

/**
 * The statement that appends to the history of the credential that a query returns as `id`, if it returns one. Does nothing
 * if the history has a row with this id.
 */
export function appendHistory(
  database: SqlDatabase,
  { id, kind, by, terms }: HistoryRow,
  { text, parameters = [] }: Statement,
): Statement {
  const first = parameters.length + 1
  const [rowId, doneBy, kindName, cell] = [0, 1, 2, 3].map((index) => `?${first + index}`)
  return {
    text: `insert into {consents} (id, credential_id, at, done_by, kind, terms)
      select ${rowId}, id, ${database.now}, ${doneBy}, ${kindName}, ${cell} from (${text}) changed where true
      on conflict (id) do nothing`,
    parameters: [...parameters, id, by, kind, terms === undefined ? null : JSON.stringify(terms)],
  }
}
