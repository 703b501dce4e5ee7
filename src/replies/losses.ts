import type { MendKind } from './mends.js'

/**
 * Accepts pieces of the model's output that cannot be read. The rest is read all the same: a caller can make the model say
 * them, and the provider bills for it.
 *
 * An object, not a function: with a closure for each choice, V8 kept whole calls past its small collections, and a call
 * took a third more CPU.
 */
export interface Losses {
  readonly count: number
  add(what: string, piece: unknown): void
  /** Counts an odd element that was mended. `dropped` names what was left out. */
  mend(kind: MendKind, dropped?: string): void
}
