import { parseArgs } from 'node:util'
import { wholeNumber } from '../../helpers/planted-command.js'
import { type Failure, kindOf, lineOf, Player } from './play.js'

const HELP = `Changes conversations of the table at random, and sends each through one API to all kinds of providers.

  npm run converse:fuzz -- --count 20000 --seed 7   plays the conversations 7.0, 7.1 and so on
  npm run converse:fuzz -- --only 7.123             plays one, and shows what fails in it, cut down
  npm run converse:fuzz -- --only 7.123 --trace     shows what the providers were asked, too

Prints one line for each kind of fault, with the seed of its first conversation. The exit status is 1 if there is one.
`
const DEFAULT_COUNT = 20_000

const { values } = parseArgs({
  options: {
    count: { type: 'string' },
    help: { type: 'boolean' },
    only: { type: 'string' },
    seed: { type: 'string', default: '1' },
    trace: { type: 'boolean' },
  },
})

function* seedsOf(count: number): Iterable<string> {
  if (values.only !== undefined) yield values.only
  else for (let place = 0; place < count; place++) yield `${values.seed}.${place}`
}

async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const count = values.only === undefined ? wholeNumber('count', values.count, DEFAULT_COUNT, 1) : 1
  const player = await Player.start()
  const startedAt = performance.now()
  const kinds = new Map<string, { first: Failure; times: number }>()
  const cells = await player.play(seedsOf(count), async (failure) => {
    const { cell, faults } = failure.verdict
    const kind = `${cell.api} > ${cell.to}: ${kindOf(faults[0]!)}`
    const known = kinds.get(kind)
    if (known !== undefined) {
      known.times++
      return
    }
    kinds.set(kind, { first: failure, times: 1 })
    const { shape, verdict } = await player.shrunk(failure)
    process.stdout.write(`${lineOf(failure)}\n  ${JSON.stringify(shape)}\n`)
    if (values.trace) process.stdout.write(`${player.askedBy(verdict).join('\n')}\n`)
  })
  await player.close()
  for (const [kind, { first, times }] of [...kinds].sort(([, one], [, other]) => other.times - one.times))
    if (times > 1) process.stdout.write(`${times} times, first ${first.seed}: ${kind}\n`)
  const seconds = (performance.now() - startedAt) / 1_000
  const { system, user } = process.cpuUsage()
  process.stdout.write(
    `${count} conversations, ${cells} cells: ${kinds.size} kinds of faults; ${seconds.toFixed(1)} s, ${((system + user) / 1e6).toFixed(1)} s of CPU\n`,
  )
  return kinds.size > 0 ? 1 : 0
}

process.exitCode = await main()
process.exit()
