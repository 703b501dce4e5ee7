import { readPlantedCommand, wholeNumber } from '../helpers/planted-command.js'
import { Bench } from './bench.js'
import type { Violation } from './check.js'
import { PLANTS, type Plant } from './plants.js'
import { type Outcome, runMutant } from './run.js'

const HELP = `Mutates recorded replies of all kinds of providers, and compares what clients get with a slow oracle.

  npm run mutate -- --mutations 20000 --seed 7     plays the mutants 7, 8, 9 and so on
  npm run mutate -- --mutations 1 --seed 12 --trace  shows one mutant, and what is expected of it
  npm run mutate -- --assemble 2000                serves so many of them to each client library too
  npm run mutate -- --plants                       lists the bugs that can be planted
  npm run mutate -- --plant usage-ignored          plants one, and must fail

Each mutant is sent to a client that asked for a stream, and to one that asked for a body. The exit status is 1 if any
promise is broken.
`
const DEFAULT_MUTATIONS = 20_000
const AT_ONCE = 16
const SHOWN = 20
const PROGRESS_EVERY = 2_000

interface Job {
  readonly mutations: number
  readonly seed: bigint
  readonly assemble: number
  readonly plant: Plant | undefined
  readonly traces: boolean
}

interface Tally {
  made: number
  unsure: number
  failed: number
  readonly outcomes: Map<string, number>
  readonly broken: Map<string, number>
}

async function main(): Promise<number> {
  const command = readPlantedCommand(HELP, PLANTS, ['mutations', 'assemble'])
  if (command === undefined) return 0
  const { plant, seed, traces, values } = command
  const mutations = wholeNumber('mutations', values.mutations, DEFAULT_MUTATIONS)
  const assemble = wholeNumber('assemble', values.assemble, Math.ceil(mutations / 10))
  return play({ mutations, seed: BigInt(seed), assemble, plant, traces })
}

async function play({ assemble, mutations, plant, seed, traces }: Job): Promise<number> {
  const bench = await Bench.start(plant)
  const tally: Tally = { made: 0, unsure: 0, failed: 0, outcomes: new Map(), broken: new Map() }
  const startedAt = performance.now()
  // Spread over all mutants, so that the libraries see all kinds.
  const every = assemble === 0 ? Infinity : mutations / assemble
  let next = 0
  const playOn = async (): Promise<void> => {
    while (next < mutations && (plant === undefined || tally.failed === 0)) {
      const index = next++
      const isAssembled = Math.floor((index + 1) / every) > Math.floor(index / every)
      note(await runMutant(bench, String(seed + BigInt(index)), isAssembled), tally, traces)
      if (tally.made % PROGRESS_EVERY === 0)
        console.error(`${tally.made} mutants, ${tally.failed} broke a promise`)
    }
  }
  await Promise.all(Array.from({ length: traces ? 1 : AT_ONCE }, playOn))
  const seconds = (performance.now() - startedAt) / 1_000
  const faults = bench.faults.length
  const { difference, held } = await bench.stop()
  for (const fault of bench.faults.slice(0, SHOWN)) console.log(JSON.stringify(fault))
  if (difference !== 0n) console.log(`the ledger and the events differ by ${difference}`)
  if (held !== 0n) console.log(`${held} is still on hold`)
  const planted = plant === undefined ? '' : ` with ${plant.name} planted`
  const kinds = [...tally.broken].map(([promise, count]) => `${promise} ${count}`).join(', ')
  const ends = [...tally.outcomes].map(([outcome, count]) => `${outcome} ${count}`).join(', ')
  console.log(
    `${tally.made} mutants from seed ${seed}${planted}, ${Math.min(assemble, tally.made)} of them through each library: ` +
      `${tally.failed} broke a promise${kinds === '' ? '' : ` (${kinds})`}; expected were ${ends}; ` +
      `${tally.unsure} (${((100 * tally.unsure) / tally.made).toFixed(2)} %) were not wholly decided; ` +
      `${seconds.toFixed(1)} s, ${(tally.made / seconds).toFixed(0)} a second`,
  )
  return tally.failed > 0 || faults > 0 || difference !== 0n || held !== 0n ? 1 : 0
}

function note(outcome: Outcome, tally: Tally, traces: boolean): void {
  const { expected, mutant, violations } = outcome
  tally.made++
  if (expected.some(({ unsure }) => unsure.size > 0)) tally.unsure++
  for (const { outcome: end } of expected) tally.outcomes.set(end, (tally.outcomes.get(end) ?? 0) + 1)
  if (traces) trace(outcome)
  if (violations.length === 0) return
  tally.failed++
  for (const { promise } of violations) tally.broken.set(promise, (tally.broken.get(promise) ?? 0) + 1)
  if (tally.failed > SHOWN) return
  console.log(`seed ${mutant.seed}, ${mutant.recording}: ${mutant.changes.join(' | ')}`)
  for (const { message, promise } of violations as readonly Violation[])
    console.log(`  ${promise}: ${message}`)
}

function trace({ expected, mutant }: Outcome): void {
  const { bytes, changes, ending, parts, recording, result } = mutant
  const sent = result !== undefined ? [result] : parts
  console.log(`${recording}: ${changes.join(' | ')}`)
  console.log(sent === undefined ? bytes.toString() : sent.map((part) => JSON.stringify(part)).join('\n'))
  console.log(`then: ${ending}`)
  console.log(JSON.stringify(expected, (_name, value) => (value instanceof Set ? [...value] : value), 2))
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
}
// Connections that client libraries keep open would keep this process alive.
process.exit()
