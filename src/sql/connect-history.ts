import type { Actor } from '../contracts/index.js'
import type { SqlDatabase, Statement } from './database.js'

/** The actor of administration, unless the host names another. */
export const OPERATOR: Actor = { kind: 'operator', name: 'operator' }
/** The actor for an app's actions on its own tokens. */
export const APP: Actor = { kind: 'app', name: 'app' }

export function actorOf(account: string): Actor {
  return { kind: 'account', name: account }
}

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
  readonly by: Actor
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
  const [rowId, doneBy, doneAs, kindName, cell] = [0, 1, 2, 3, 4].map((index) => `?${first + index}`)
  return {
    text: `insert into {consents} (id, credential_id, at, done_by, done_as, kind, terms)
      select ${rowId}, id, ${database.now}, ${doneBy}, ${doneAs}, ${kindName}, ${cell} from (${text}) changed where true
      on conflict (id) do nothing`,
    parameters: [
      ...parameters,
      id,
      by.name,
      by.kind,
      kind,
      terms === undefined ? null : JSON.stringify(terms),
    ],
  }
}
