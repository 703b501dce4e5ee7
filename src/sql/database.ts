/** The value of a cell. Integers are text from PostgreSQL and bigint from SQLite, so neither passes through a double. */
export type Cell = string | bigint | null

export type Row = Readonly<Record<string, Cell>>

export type Parameter = string | bigint | number | null

/** In the text, parameters are written as `?1`, `?2`, …, and tables as `{accounts}`. */
export interface Statement {
  readonly text: string
  readonly parameters?: readonly Parameter[]
  /** Set if the statement may read millions of rows and take minutes. No other statement waits for it. Only for `all`. */
  readonly isReport?: true
  /** Set if a read replica may answer the report, a while behind. */
  readonly mayLag?: true
}

/** The kind of rows whose changes a watch reports. */
export type Topic = 'credentials' | 'models' | 'routes'

/**
 * Everything that a store needs from an engine to read and write rows. A rejection is a fault: the database is gone,
 * locked or full.
 */
export interface SqlDatabase {
  readonly engine: 'sqlite' | 'postgres'
  /** Runs one statement. */
  all(statement: Statement): Promise<readonly Row[]>
  /** Runs several statements in one transaction and returns the rows of each. */
  batch(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>
  /**
   * Returns a statement that notifies every watch, in every process, that the row with this id has changed. Without an id,
   * any row may have changed. Run it in the transaction that makes the change.
   */
  change(topic: Topic, id?: string): Statement
  /** Like {@link change}, for each row of a query with a column `id`. */
  changeEach(topic: Topic, rows: Statement): Statement
  /** See `Watch` in the contracts. Every process is notified within a second. */
  watch(topic: Topic, changed: (id?: string) => void, connection?: (connected: boolean) => void): () => void
  /** SQL for the database's time, in milliseconds since the Unix epoch. */
  readonly now: string
  /** SQL for how many milliseconds a report with `mayLag` is behind. Absent if no replica answers it. */
  readonly behind?: string
}

const TABLE_PATTERN = /\{(\w+)\}/g

/** Replaces each `{table}` with the engine's name for it. */
export function nameTables(text: string, name: (table: string) => string): string {
  return text.replace(TABLE_PATTERN, (_, table: string) => name(table))
}
