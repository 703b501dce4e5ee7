import { parseArgs } from 'node:util'
import { complaints, KnownFaults } from './marks.js'
import { SHAPES } from './shapes/index.js'
import { cellsOf, keyOf, Table, type Verdict } from './table.js'

const HELP = `Sends conversations of all shapes through three APIs to strict stand-ins of all kinds of providers.

  npm run converse                       plays the table, and says what fails without a mark, or passes with one
  npm run converse -- --all              says what fails, marked or not, by kinds of faults
  npm run converse -- --only NAME        plays the cells whose names contain this, as in an-image.chat.messages.body
  npm run converse -- --only NAME --trace  shows what the providers were asked
  npm run converse -- --mark             marks what fails in known-faults.json, after a row or a rule of a stand-in is new

The exit status is 1 if a cell fails without a mark, or passes with one.
`

const { values } = parseArgs({
  options: {
    all: { type: 'boolean' },
    help: { type: 'boolean' },
    mark: { type: 'boolean' },
    only: { type: 'string', default: '' },
    trace: { type: 'boolean' },
  },
})

async function main(): Promise<number> {
  if (values.help) {
    console.log(HELP)
    return 0
  }
  const cells = SHAPES.flatMap(cellsOf).filter((cell) => keyOf(cell).includes(values.only))
  const table = await Table.start(cells)
  const startedAt = performance.now()
  const verdicts = await table.play()
  const seconds = (performance.now() - startedAt) / 1_000
  if (values.trace)
    for (const cell of cells)
      for (const { raw, refusal } of table.askedBy(cell))
        console.log(`${keyOf(cell)} asked\n${raw}\n${refusal?.text ?? 'accepted'}`)
  await table.close()
  if (values.mark && values.only === '') KnownFaults.write(verdicts)
  const found = complaints(verdicts, KnownFaults.read())
  if (values.all || values.only !== '') report(verdicts)
  else for (const complaint of found) console.log(complaint)
  const { system, user } = process.cpuUsage()
  const failed = verdicts.filter(({ faults }) => faults.length > 0).length
  console.log(
    `${SHAPES.length} conversations, ${cells.length} cells: ${failed} fail, ${found.length} without a mark or in spite of one; ` +
      `${seconds.toFixed(1)} s, ${((system + user) / 1e6).toFixed(1)} s of CPU`,
  )
  return found.length > 0 ? 1 : 0
}

/** Prints each kind of fault with its cells. */
function report(verdicts: readonly Verdict[]): void {
  const kinds = new Map<string, Set<string>>()
  for (const { asked, cell, faults } of verdicts) {
    for (const fault of faults) {
      const kind = `${cell.shape.name}: ${fault.replaceAll(keyOf(cell), 'the model')}${asked.length === 0 ? '' : ` [${asked}]`}`
      const cells = kinds.get(kind) ?? new Set()
      kinds.set(kind, cells.add(`${cell.api} > ${cell.to}`))
    }
  }
  for (const [kind, cells] of [...kinds].sort()) console.log(`${kind}\n    ${[...cells].join(', ')}`)
}

process.exitCode = await main()
// Connections that client libraries keep open would keep this process alive.
process.exit()
