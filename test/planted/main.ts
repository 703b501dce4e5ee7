import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readPlantedCommand } from '../helpers/planted-command.js'
import { HOLES, type Hole } from './holes.js'
import { plantedIn } from './planted-in.js'

const HELP = `Plants holes in the source, one by one, and runs the tests that must find them.

  npm run planted                             plants each hole, and fails if one is not found
  npm run planted -- --plants                 lists the holes
  npm run planted -- --plant inner-json-without-limits  plants one, and must fail as its tests do
`

/** Returns what the tests printed, and how many failed. */
function runTests(hole: Hole): { readonly text: string; readonly failed: number } {
  const {
    name,
    test: [file, title],
  } = hole
  // A file that has moved would not be changed.
  plantedIn(readFileSync(hole.file, 'utf8'), hole)
  const filter = title === '' ? [] : ['-t', title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')]
  const { stderr, stdout } = spawnSync(
    'npx',
    ['vitest', 'run', '--config', 'test/planted/vitest.config.ts', file, ...filter, '--maxWorkers=1'],
    { env: { ...process.env, PLANTED_HOLE: name, NO_COLOR: '1' }, encoding: 'utf8' },
  )
  const text = `${stdout}${stderr}`
  return { text, failed: Number(/Tests\s+(\d+) failed/.exec(text)?.[1] ?? 0) }
}

function main(): number {
  const command = readPlantedCommand(HELP, HOLES, [])
  if (command === undefined) return 0
  if (command.plant !== undefined) {
    const { failed, text } = runTests(command.plant)
    console.log(text)
    return failed > 0 ? 1 : 0
  }
  let missed = 0
  for (const hole of HOLES) {
    const { failed, text } = runTests(hole)
    if (failed === 0) missed++
    console.log(`${hole.name}: ${failed > 0 ? `found by ${failed} tests` : `NOT FOUND\n${text}`}`)
  }
  return missed > 0 ? 1 : 0
}

process.exitCode = main()
