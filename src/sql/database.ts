/** What a cell holds. PostgreSQL's integers come as text and SQLite's as bigint, so that neither passes through a double. */
export type Cell = string | bigint | null

export type Row = Readonly<Record<string, Cell>>

export type Parameter = string | bigint | number | null

/** Parameters are written `?1`, `?2`, … in the text, tables as `{accounts}`. */
export interface Statement {
  readonly text: string
  readonly parameters?: readonly Parameter[]
  /** May read millions of rows and take minutes; nothing else waits for it. Only for `all`. */
  readonly isReport?: true
}

/** Whose changes a watch hears. */
export type Topic = 'credentials' | 'models' | 'routes'

/**
 * All that the stores which only read and write rows need of an engine. Rejections are faults: the database is gone,
 * locked or full.
 */
export interface SqlDatabase {
  readonly engine: 'sqlite' | 'postgres'
  /** Runs one statement. */
  all(statement: Statement): Promise<readonly Row[]>
  /** Runs several in one transaction and gives the rows of each. */
  batch(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>
  /**
   * The statement that tells every watch, in every process, that the row of this id has changed; without an id, that any
   * may have. It belongs into the transaction that makes the change.
   */
  change(topic: Topic, id?: string): Statement
  /** See `Watch` of the contracts. Heard in every process within a second. */
  watch(topic: Topic, changed: (id?: string) => void, connection?: (connected: boolean) => void): () => void
  /** SQL for the time on the database's clock, in milliseconds since the Unix epoch. */
  readonly now: string
}

const TABLE_PATTERN = /\{(\w+)\}/g

/** Puts the engine's names in the place of `{table}`. */
export function nameTables(text: string, name: (table: string) => string): string {
  return text.replace(TABLE_PATTERN, (_, table: string) => name(table))
}
