import { readPlantedCommand, wholeNumber } from '../helpers/planted-command.js'
import type { Violation } from './check-world.js'
import { type HonestBody, honestBodies } from './honest-bodies.js'
import { PLANTS, type Plant } from './plants.js'
import { planWorld, runWorld, type WorldResult } from './run.js'
import { Servers } from './servers.js'
import { shrinkCall } from './shrink.js'

const HELP = `Makes calls as callers do who try to pay less, over sockets, to providers that bill by rules of their own.

  npm run callers -- --calls 100000 --seed 7    plays the worlds 7, 8, 9 and so on, until so many calls are made
  npm run callers -- --calls 1 --seed 12 --trace  tells what happens to each call of one world
  npm run callers -- --plants                   lists the holes that can be planted
  npm run callers -- --plant bound-not-clamped  plants one, and must fail

A world has a router, some providers and about 80 calls. Whatever breaks a promise is shown by the promise, with the
world and the call, and cut down to what breaks it. The exit status is 1 if anything is found.
`
const DEFAULT_CALLS = 20_000
const WORLDS_AT_ONCE = 4
const SHOWN = 12
const SHRUNK = 8
const SHOWN_CHARS = 1_500
const PROGRESS_EVERY = 100

interface Found {
  count: number
  readonly seed: string
  readonly first: Violation
}

interface Job {
  readonly calls: number
  readonly seed: string
  readonly plant: Plant | undefined
  readonly traces: boolean
}

async function main(): Promise<number> {
  const command = readPlantedCommand(HELP, PLANTS, ['calls'])
  if (command === undefined) return 0
  const { plant, seed, traces, values } = command
  const calls = wholeNumber('calls', values.calls, DEFAULT_CALLS, 1)
  const servers = new Servers()
  await servers.start()
  try {
    return await play({ calls, seed, plant, traces }, servers)
  } finally {
    await servers.close()
  }
}

async function play({ calls, plant, seed, traces }: Job, servers: Servers): Promise<number> {
  const honest = await honestBodies()
  const startedAt = performance.now()
  const found = new Map<string, Found>()
  let made = 0
  let worlds = 0
  const playOn = async (): Promise<void> => {
    while (made < calls && (plant === undefined || found.size === 0)) {
      const world = String(BigInt(seed) + BigInt(worlds++))
      const result = await runWorld(planWorld(world, honest), servers, plant)
      made += result.calls
      note(result, found)
      if (traces) console.log(result.notes.join('\n'))
      if (worlds % PROGRESS_EVERY === 0) console.error(`${made} calls, ${found.size} kinds of failure`)
    }
  }
  await Promise.all(Array.from({ length: traces ? 1 : WORLDS_AT_ONCE }, playOn))
  const seconds = (performance.now() - startedAt) / 1_000
  const planted = plant === undefined ? '' : ` with ${plant.name} planted`
  await report(found, honest, servers, plant)
  const count = [...found.values()].reduce((sum, one) => sum + one.count, 0)
  console.log(
    `${made} calls in ${worlds} worlds from seed ${seed}${planted}: ${count} failures of ${found.size} kinds, ` +
      `${seconds.toFixed(1)} s, ${(made / seconds).toFixed(0)} calls a second`,
  )
  return found.size > 0 ? 1 : 0
}

/** Failures are grouped by the promise, and by the path if it is one in a request. */
function note({ seed, violations }: WorldResult, found: Map<string, Found>): void {
  for (const violation of violations) {
    const isPlace = violation.kind === 'unlisted-field' || violation.kind === 'billed-extra'
    const key = isPlace ? `${violation.kind} ${violation.message.replace(/\d+/g, 'N')}` : violation.kind
    const known = found.get(key)
    if (known === undefined) found.set(key, { count: 1, seed, first: violation })
    else known.count++
  }
}

async function report(
  found: ReadonlyMap<string, Found>,
  honest: readonly HonestBody[],
  servers: Servers,
  plant: Plant | undefined,
): Promise<void> {
  const byCount = [...found.values()].sort((one, other) => other.count - one.count)
  for (const [index, { count, first, seed }] of byCount.slice(0, SHOWN).entries()) {
    console.log(`${first.kind}, ${count} times; first in world ${seed}, ${first.call}: ${first.message}`)
    if (index >= SHRUNK) continue
    const smallest = await shrinkCall(planWorld(seed, honest), first.call, first.kind, servers, plant)
    const shown = smallest === undefined ? '(takes other calls)' : JSON.stringify(smallest)
    console.log(`  ${shown.slice(0, SHOWN_CHARS)}`)
  }
  if (byCount.length > SHOWN) console.log(`and ${byCount.length - SHOWN} kinds more`)
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
}
// Connections that callers keep open would keep this process alive.
process.exit()
