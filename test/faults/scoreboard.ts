import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Library } from './bench.js'
import { FAULTS } from './catalogue.js'
import { apisOf, type Fault, playFault } from './fault.js'
import { type Column, difference, type Score, scoreTable } from './score-table.js'

const ENTRY = new URL('../../dist/index.js', import.meta.url)
/** Far longer than any fault takes. A fault that never ends is also a failure. */
const PATIENCE_MS = 60_000

/**
 * Plays every fault against the built package, prints the results, and fails if a charge differs from the
 * amount due.
 */
async function main(): Promise<number> {
  if (!existsSync(ENTRY)) {
    console.error(`There is no ${fileURLToPath(ENTRY)}. Build the package first: npm run build`)
    return 1
  }
  const library = (await import(ENTRY.href)) as Library
  const scores: Score[] = []
  const failures: string[] = []
  for (const fault of FAULTS) {
    try {
      scores.push({ fault, due: fault.due, charged: await chargesOf(library, fault) })
    } catch (error) {
      failures.push(`${fault.name} (${fault.stream ? 'stream' : 'JSON'}): ${error}`)
    }
  }
  console.log(scoreTable(scores))
  const wrong = scores.filter((score) => difference(score) !== '0')
  console.log(
    `\n${FAULTS.length} faults: ${scores.length - wrong.length} charged the amount due, ${wrong.length} did not, ${failures.length} failed.`,
  )
  for (const failure of failures) console.error(failure)
  return wrong.length + failures.length === 0 ? 0 : 1
}

/** Plays a fault through each of its APIs. */
async function chargesOf(library: Library, fault: Fault): Promise<Map<Column, string>> {
  const charged = new Map<Column, string>()
  const apis = apisOf(fault)
  if (apis.length === 0) charged.set('embeddings', (await inTime(playFault(library, fault))).charged)
  for (const api of apis) charged.set(api.name, (await inTime(playFault(library, fault, api))).charged)
  return charged
}

async function inTime<T>(played: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over after ${PATIENCE_MS} ms`)), PATIENCE_MS)
  })
  try {
    return await Promise.race([played, late])
  } finally {
    clearTimeout(timer)
  }
}

process.exitCode = await main()
