import type { Actor } from '../contracts/index.js'
import type { Parameter, SqlDatabase, Statement } from './database.js'

/** What a change was about. `credential` is an API key or an access token, and `entry` a posting of credits. */
export type AuditNoun = 'account' | 'credential' | 'model' | 'route' | 'limit' | 'entry'

export interface AuditedChange {
  readonly noun: AuditNoun
  /** A verb in the past tense, such as `removed`. */
  readonly kind: string
  /** The values that it set, as JSON. Never a secret. */
  readonly details?: unknown
}

/** Records changes in the audit log as those of one actor. */
export interface Recorder {
  readonly by: Actor
  /** Returns a recorder for another actor. */
  as(by: Actor): Recorder
  /**
   * Returns the statement that records a change of each thing that a query returns as `id`, with the `account` that it
   * concerns, or null. Run it in the transaction of the change, at a point where the query returns a row only if the
   * change is made.
   */
  record(change: AuditedChange, rows: Statement): Statement
}

/** `newId` returns ordered ids, so that the newest change has the largest one. */
export function createRecorder(database: SqlDatabase, newId: () => string, by: Actor): Recorder {
  return {
    by,
    as: (other) => createRecorder(database, newId, other),
    record({ noun, kind, details }, { text, parameters = [] }) {
      const added: readonly Parameter[] = [
        newId(),
        by.name,
        by.kind,
        noun,
        kind,
        details === undefined ? null : JSON.stringify(details),
      ]
      const cells = added.map((_, index) => `?${parameters.length + 1 + index}`)
      const [id, doneBy, doneAs, about, verb, json] = cells
      return {
        text: `insert into {audit} (id, at, done_by, done_as, noun, subject_id, kind, account, details)
          select ${id}, ${database.now}, ${doneBy}, ${doneAs}, ${about}, id, ${verb}, account, ${json}
          from (${text}) changed where true`,
        parameters: [...parameters, ...added],
      }
    },
  }
}
