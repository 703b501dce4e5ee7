import { assembleMutant } from './assemble.js'
import type { Bench } from './bench.js'
import { check, type Violation } from './check.js'
import type { Expected } from './hearing.js'
import { type Mutant, mutant } from './mutate.js'
import { expectedOf } from './oracle.js'

/** What became of one mutant. */
export interface Outcome {
  readonly mutant: Mutant
  readonly expected: readonly Expected[]
  readonly violations: readonly Violation[]
}

/**
 * Sends a mutant through the router, to a client that wants a stream and to one that wants a body. If asked for, client
 * libraries get it too, in one of the two ways.
 */
export async function runMutant(bench: Bench, seed: string, withLibraries = false): Promise<Outcome> {
  const made = mutant(seed)
  const expected: Expected[] = []
  const violations: Violation[] = []
  // A model of the AI SDK has a method for each, and each mutant is made for one.
  const modes = made.result !== undefined ? [false] : made.parts !== undefined ? [true] : [true, false]
  for (const stream of modes) {
    const due = expectedOf(made, stream)
    expected.push(due)
    const observed = await bench.ask(made, stream)
    const found = check(due, observed, stream)
    const isTheirs = modes.length === 1 || stream === (BigInt(seed) % 2n === 0n)
    if (withLibraries && isTheirs) found.push(...(await assembleMutant(bench, made, due, stream)))
    for (const { message, promise } of found) {
      violations.push({ promise, message: `${stream ? 'stream' : 'body'}: ${message}` })
    }
  }
  return { mutant: made, expected, violations }
}
