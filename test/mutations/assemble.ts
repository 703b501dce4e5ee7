import type { Bench } from './bench.js'
import type { Violation } from './check.js'
import { type Assembled, LIBRARIES } from './clients.js'
import type { Expected } from './hearing.js'
import type { Mutant } from './mutate.js'

const PARTS = ['text', 'reasoning', 'refusal', 'calls', 'finish'] as const

/** Serves a mutant to every client library: each must assemble the expected message, or report an error. */
export async function assembleMutant(
  bench: Bench,
  mutant: Mutant,
  expected: Expected,
  stream: boolean,
): Promise<Violation[]> {
  const found: Violation[] = []
  for (const library of LIBRARIES) {
    const id = bench.open(mutant)
    let made: Assembled | undefined
    let error: unknown
    try {
      made = await library.assemble({ baseURL: bench.baseUrl, headers: { 'x-request-id': id }, stream })
    } catch (thrown) {
      error = thrown
    }
    await bench.forget(id)
    const say = (message: string): void =>
      void found.push({ promise: 'assembled-otherwise', message: `${library.name}, ${stream}: ${message}` })
    if (made === undefined) {
      if (expected.outcome === 'whole') say(`it failed: ${error}`)
      continue
    }
    if (expected.outcome !== 'whole') {
      say(`it reported no error, but ${JSON.stringify(made)}`)
      continue
    }
    for (const part of PARTS) {
      const difference = library.differences.find(
        (one) => one.part === part && (one.when?.(expected, stream) ?? true),
      )
      if (difference !== undefined && difference.inForm === undefined) continue
      const inForm = difference?.inForm ?? ((text: string) => text)
      if (expected.unsure.has('calls') && (part === 'calls' || part === 'finish')) continue
      const due = part === 'calls' ? shown(expected.calls.map(readCall)) : inForm(expected[part] ?? '')
      const given = part === 'calls' ? shown(made.calls) : inForm(made[part] ?? '')
      if (due !== given) say(`${part} is ${given}, not ${due}`)
    }
  }
  return found
}

function readCall({
  arguments: args,
  name,
}: {
  name: string
  arguments: string
}): Assembled['calls'][number] {
  try {
    return { name, arguments: JSON.parse(args) as unknown }
  } catch {
    return { name, arguments: args }
  }
}

function shown(calls: Assembled['calls']): string {
  return JSON.stringify(calls.map(({ arguments: args, name }) => JSON.stringify([name, args])).sort())
}
