import { fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { readPlantedCommand, wholeNumber } from '../helpers/planted-command.js'
import { PLANTS, type Plant } from './plants.js'
import { run } from './run.js'

const HELP = `Plays calls against the engine on a virtual clock, in worlds where everything fails.

  npm run simulate -- --runs 100000 --seed 7      plays the seeds 7, 8, 9 and so on
  npm run simulate -- --runs 1 --seed 12 --trace  tells what happens in one of them
  npm run simulate -- --plants                    lists the bugs that can be planted
  npm run simulate -- --plant lost-release        plants one, and must fail

A run is a world of about three calls: a router or two, their ledger, providers and clients. It fails where an invariant
does not hold; the seed of each that fails is printed, and plays the same run again. The exit status is 1 if any has
failed. A seed is any text. --skip N leaves out the first N seeds.
`
const DEFAULT_RUNS = 5_000
/** From this number of runs on, a second process plays the second half. */
const MANY_RUNS = 10_000
const SHOWN_SEEDS = 20
const SHOWN_VIOLATIONS = 5
const PROGRESS_EVERY = 10_000

interface Totals {
  readonly runs: number
  readonly calls: number
  readonly charged: number
  readonly failed: readonly string[]
}

interface Job {
  readonly seed: string
  readonly skip: number
  readonly runs: number
  readonly plant: Plant | undefined
  readonly traces: boolean
}

async function main(): Promise<number> {
  const command = readPlantedCommand(HELP, PLANTS, ['runs', 'skip'])
  if (command === undefined) return 0
  const { plant, seed, traces, values } = command
  const job: Job = {
    seed,
    skip: wholeNumber('skip', values.skip, 0),
    runs: wholeNumber('runs', values.runs, DEFAULT_RUNS, 1),
    plant,
    traces,
  }
  const startedAt = performance.now()
  const totals = await play(job)
  if (process.send !== undefined) {
    process.send(totals)
    return 0
  }
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  const planted = plant === undefined ? '' : ` with ${plant.name} planted`
  console.log(
    `${totals.runs} runs from seed ${job.seed}${planted}: ${totals.calls} calls, ${totals.charged} charged, ` +
      `${totals.failed.length} runs failed, ${seconds} s`,
  )
  if (totals.failed.length > 0) console.log(`failed seeds: ${totals.failed.join(' ')}`)
  return totals.failed.length > 0 ? 1 : 0
}

async function play(job: Job): Promise<Totals> {
  const isAlone = process.send !== undefined || availableParallelism() < 2
  if (isAlone || job.runs < MANY_RUNS || job.plant !== undefined || job.traces) return playAll(job)
  const mine = Math.ceil(job.runs / 2)
  const [one, other] = await Promise.all([
    playAll({ ...job, runs: mine }),
    playElsewhere({ ...job, skip: job.skip + mine, runs: job.runs - mine }),
  ])
  return {
    runs: one.runs + other.runs,
    calls: one.calls + other.calls,
    charged: one.charged + other.charged,
    failed: [...one.failed, ...other.failed],
  }
}

async function playElsewhere({ seed, skip, runs }: Job): Promise<Totals> {
  const args = ['--seed', seed, '--skip', String(skip), '--runs', String(runs)]
  const child = fork(fileURLToPath(import.meta.url), args)
  let totals: Totals | undefined
  child.on('message', (message) => {
    totals = message as Totals
  })
  await once(child, 'exit')
  if (totals === undefined) throw new Error('The second process ended before it was done.')
  return totals
}

async function playAll({ seed, skip, runs, plant, traces }: Job): Promise<Totals> {
  let calls = 0
  let charged = 0
  const failed: string[] = []
  for (let index = 0; index < runs; index++) {
    const result = await run(seedAt(seed, skip + index), plant, traces)
    calls += result.calls
    charged += result.charged
    if (traces) console.log(result.notes.join('\n'))
    if (result.violations.length > 0) {
      failed.push(result.seed)
      if (failed.length <= SHOWN_SEEDS) report(result.seed, result.violations)
      // One is enough to show that it is found.
      if (plant !== undefined) return { runs: index + 1, calls, charged, failed }
    }
    if ((index + 1) % PROGRESS_EVERY === 0) console.error(`${index + 1} runs, ${failed.length} failed`)
  }
  return { runs, calls, charged, failed }
}

function report(seed: string, violations: readonly string[]): void {
  console.log(`seed ${seed} failed:`)
  for (const violation of violations.slice(0, SHOWN_VIOLATIONS)) console.log(`  ${violation}`)
}

/** Whole numbers count up from the first. Any other text gets a number appended, except the first time. */
function seedAt(seed: string, index: number): string {
  if (/^\d{1,30}$/.test(seed)) return String(BigInt(seed) + BigInt(index))
  return index === 0 ? seed : `${seed}.${index}`
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
}
// A channel to a parent would keep this process alive.
process.disconnect?.()
