import type { Parameter, Row, Statement } from '../sql/database.js'
import type { LedgerCommand, LedgerOutcome } from '../sql/ledger-commands.js'

/** The data that a worker starts with. */
export interface WorkerStart {
  readonly file: string
  /** Another thread has migrated the file. A later release may have migrated it since, which is no reason to refuse it. */
  readonly isUpToDate: boolean
  /** Whether a commit waits for the disk. */
  readonly isDurable: boolean
}

/** A question to the worker. Each runs in one transaction. */
export type Question =
  | {
      readonly kind: 'ledger'
      readonly commands: readonly LedgerCommand[]
      readonly process?: string | undefined
    }
  | { readonly kind: 'expire'; readonly limit: number }
  | { readonly kind: 'batch'; readonly statements: readonly Statement[] }
  | InsertQuestion
  | { readonly kind: 'close' }

/** Runs one statement for each row. */
export interface InsertQuestion {
  readonly kind: 'insert'
  readonly text: string
  readonly columns: readonly InsertColumn[]
}

/** The cells of one statement parameter, one for each row. A thread sends one long text faster than many short ones. */
export type InsertColumn = readonly Parameter[] | string

/** No stored text contains this. */
const SEPARATOR = '\0'

export function packColumn(cells: readonly Parameter[]): InsertColumn {
  return cells.every((cell) => typeof cell === 'string') ? cells.join(SEPARATOR) : cells
}

export function unpackColumn(column: InsertColumn): readonly Parameter[] {
  return typeof column === 'string' ? column.split(SEPARATOR) : column
}

/** The worker's answer to each kind of question. */
export interface Answers {
  readonly ledger: readonly LedgerOutcome[]
  readonly expire: readonly Row[]
  readonly batch: readonly (readonly Row[])[]
  readonly insert: null
  readonly close: null
}

export interface QuestionMessage {
  readonly number: number
  readonly question: Question
}

export type AnswerMessage =
  | { readonly number: number; readonly answer: Answers[keyof Answers] }
  | { readonly number: number; readonly fault: FaultCells }

/** An error as it is sent between threads, which lose its class and code. */
export interface FaultCells {
  readonly name: string
  readonly message: string
  readonly code?: string
}
