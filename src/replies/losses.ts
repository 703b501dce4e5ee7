import type { MendKind } from './mends.js'

/**
 * Collects unreadable pieces of the model's output. The rest of a reply is still read, because a caller can provoke such
 * pieces and the provider bills for them.
 *
 * It is an object and not a function: with a closure for each choice, whole calls survived V8's minor collections, and a
 * call used a third more CPU.
 */
export interface Losses {
  readonly count: number
  add(what: string, piece: unknown): void
  /** Counts an odd element that was repaired. `dropped` names an omitted element. */
  mend(kind: MendKind, dropped?: string): void
}

export const DROPPED_BY_PROVIDER = 'the provider dropped output of the model that it could not read'
