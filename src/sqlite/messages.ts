import type { Row, Statement } from '../sql/database.js'
import type { LedgerCommand, LedgerOutcome } from '../sql/ledger-commands.js'

/** What a worker is started with. */
export interface WorkerStart {
  readonly file: string
  /** Another thread has brought it up to date: what a later release has made of it since is no reason to refuse it. */
  readonly isUpToDate: boolean
}

/** A question to the worker. Each is one transaction. */
export type Question =
  | { readonly kind: 'ledger'; readonly commands: readonly LedgerCommand[] }
  | { readonly kind: 'expire'; readonly limit: number }
  | { readonly kind: 'batch'; readonly statements: readonly Statement[] }
  | { readonly kind: 'close' }

/** What the worker answers to each kind of question. */
export interface Answers {
  readonly ledger: readonly LedgerOutcome[]
  readonly expire: readonly Row[]
  readonly batch: readonly (readonly Row[])[]
  readonly close: null
}

export interface QuestionMessage {
  readonly number: number
  readonly question: Question
}

export type AnswerMessage =
  | { readonly number: number; readonly answer: Answers[keyof Answers] }
  | { readonly number: number; readonly fault: FaultCells }

/** An error as it crosses between threads, which keep neither its class nor its code. */
export interface FaultCells {
  readonly name: string
  readonly message: string
  readonly code?: string
}
