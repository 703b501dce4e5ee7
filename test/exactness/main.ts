import { parseArgs } from 'node:util'
import { runTarget } from './run.js'
import { FULL, SMALL, scenariosOf } from './scenarios.js'
import { isExact, isOffered } from './score.js'
import { report } from './table.js'
import { TARGETS } from './targets/index.js'

const HELP = `Compares the charges of a gateway with the amounts due by its own stated policy.

  npm run exactness -- --target ours          the built package, with stores in memory
  npm run exactness -- --target ours-sqlite   the same with a SQLite file, which survives a kill
  npm run exactness -- --target NAME          a peer
  npm run exactness -- --target NAME --small  with 60 calls at once instead of 1,000
  npm run exactness -- --targets              lists the targets

The exit status is 1 if a column is not 0.
`

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      target: { type: 'string' },
      targets: { type: 'boolean' },
      small: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.targets === true) {
    process.stdout.write(`${Object.keys(TARGETS).join('\n')}\n`)
    return 0
  }
  const name = values.target
  if (values.help === true || name === undefined) {
    process.stdout.write(HELP)
    return values.help === true ? 0 : 1
  }
  if (!Object.hasOwn(TARGETS, name)) throw new TypeError(`Unknown target '${name}'; --targets lists them.`)
  const target = await TARGETS[name]!()
  const outcomes = await runTarget(
    target,
    scenariosOf(values.small === true ? SMALL : FULL),
    ({ scenario }) => {
      process.stderr.write(`${scenario}\n`)
    },
  )
  process.stdout.write(`${report(target, outcomes)}\n`)
  return outcomes.filter(isOffered).every(isExact) ? 0 : 1
}

process.exitCode = await main()
