import { parseArgs } from 'node:util'
import { PLANTS } from './plants.js'
import { run } from './run.js'

const HELP = `Plays calls against the engine on a virtual clock, in worlds where everything fails.

  npm run simulate -- --runs 100000 --seed 7    plays the seeds 7, 8, 9 and so on
  npm run simulate -- --runs 1 --seed 12 --trace  tells what happens in one of them
  npm run simulate -- --plants                  lists the bugs that can be planted
  npm run simulate -- --plant lost-release      plants one, and must fail

A run is a world: a router or two, their ledger, providers and clients. It fails where an invariant does not hold; the
seed of each that fails is printed, and plays the same run again. The exit status is 1 if any has failed.
`
const DEFAULT_RUNS = 5_000
const SHOWN_SEEDS = 20
const SHOWN_VIOLATIONS = 5
const PROGRESS_EVERY = 10_000

interface Totals {
  runs: number
  calls: number
  charged: number
  readonly failed: string[]
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string' },
      seed: { type: 'string' },
      plants: { type: 'boolean' },
      plant: { type: 'string' },
      trace: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (values.plants) {
    process.stdout.write(`${PLANTS.map(({ name }) => name).join('\n')}\n`)
    return 0
  }
  const plant = PLANTS.find(({ name }) => name === values.plant)
  if (values.plant !== undefined && plant === undefined) {
    throw new TypeError(`There is no plant '${values.plant}'; --plants lists them.`)
  }
  const runs = Number(values.runs ?? DEFAULT_RUNS)
  if (!Number.isSafeInteger(runs) || runs < 1)
    throw new TypeError('--runs must be a whole number of at least 1.')
  const seed = values.seed ?? String(Math.floor(Date.now() / 1_000))

  const totals: Totals = { runs: 0, calls: 0, charged: 0, failed: [] }
  const startedAt = performance.now()
  for (let index = 0; index < runs; index++) {
    const result = await run(seedAt(seed, index), plant, values.trace ?? false)
    totals.runs++
    totals.calls += result.calls
    totals.charged += result.charged
    if (values.trace) console.log(result.notes.join('\n'))
    if (result.violations.length > 0) {
      report(result.seed, result.violations, totals)
      // One is enough to show that it is found.
      if (plant !== undefined) break
    }
    if (totals.runs % PROGRESS_EVERY === 0)
      console.error(`${totals.runs} runs, ${totals.failed.length} failed`)
  }
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  const planted = plant === undefined ? '' : ` with ${plant.name} planted`
  console.log(
    `${totals.runs} runs from seed ${seed}${planted}: ${totals.calls} calls, ${totals.charged} charged, ` +
      `${totals.failed.length} runs failed, ${seconds} s`,
  )
  if (totals.failed.length > 0) console.log(`failed seeds: ${totals.failed.join(' ')}`)
  return totals.failed.length > 0 ? 1 : 0
}

function report(seed: string, violations: readonly string[], totals: Totals): void {
  totals.failed.push(seed)
  if (totals.failed.length > SHOWN_SEEDS) return
  console.log(`seed ${seed} failed:`)
  for (const violation of violations.slice(0, SHOWN_VIOLATIONS)) console.log(`  ${violation}`)
}

/** Whole numbers count on from the first; any other text gets a number behind it, but the first time. */
export function seedAt(seed: string, index: number): string {
  if (/^\d{1,30}$/.test(seed)) return String(BigInt(seed) + BigInt(index))
  return index === 0 ? seed : `${seed}.${index}`
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
}
