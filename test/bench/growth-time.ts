/** `npm run bench:growth:time`: whether a step takes the square of what a caller or a provider sends. See README.md. */
import { parseArgs } from 'node:util'
import { runMain, say } from './lib/arguments.js'
import { growthOf, MOST_GROWTH } from './lib/growth-of-time.js'
import { READING_PATHS } from './lib/reading-paths.js'
import { format } from './lib/report.js'
import { markdownTable } from './lib/table.js'
import { TIME_PLANTS } from './lib/time-plants.js'

const HELP = `npm run bench:growth:time -- [options]

  --path TEXT     only paths whose name contains this
  --plant NAME    plants a step that takes the square, which must be found: ${Object.keys(TIME_PLANTS).join(', ')}
`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { path: { type: 'string' }, plant: { type: 'string' }, help: { type: 'boolean' } },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return
  }
  if (values.plant !== undefined) {
    const plant = TIME_PLANTS[values.plant]
    if (plant === undefined) throw new Error(`There is no plant ${values.plant}.`)
    plant()
  }
  const rows: string[][] = []
  let failed = 0
  for (const path of READING_PATHS.filter(({ name }) => name.includes(values.path ?? ''))) {
    const found = await growthOf(path).catch((error: unknown) => String(error))
    if (typeof found === 'string') {
      failed++
      rows.push([path.name, '', '', '', '', 'FAILS'])
      say(`${path.name}: FAILS: ${found}`)
      continue
    }
    const { growth, isMeasured, largerMs, ms, size } = found
    const isTooMuch = growth > MOST_GROWTH
    if (isTooMuch) failed++
    const note = isTooMuch ? 'GROWS' : isMeasured ? '' : 'short'
    rows.push([path.name, format(size, 0), format(ms, 1), format(largerMs, 1), format(growth, 2), note])
    say(`${path.name}: ${format(growth, 2)} ${note}`)
  }
  process.stdout.write(
    `${markdownTable(['what is sent', 'size', 'ms', 'ms at four times the size', 'times', ''], rows)}\n`,
  )
  if (failed > 0) process.exitCode = 1
}

runMain(main)
