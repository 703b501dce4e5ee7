/** `npm run bench:tables`: measures, and writes the tables of docs/performance.md. See README.md. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { choose, runMain, say } from './lib/arguments.js'
import {
  commandOf,
  MEASURED_PAGE,
  MEASURED_PARTS,
  type MeasuredPart,
  replacePart,
} from './lib/measured-tables.js'
import { format } from './lib/report.js'

const PROGRAMS: Readonly<Record<MeasuredPart['script'], string>> = {
  bench: fileURLToPath(new URL('./bench.js', import.meta.url)),
  'bench:open': fileURLToPath(new URL('./open.js', import.meta.url)),
}
/** What a figure depends on. */
const MEASURED = ['src', 'package-lock.json']

/** Runs the bench, which prints the machine, the versions and the commit before its tables. */
async function measure(part: MeasuredPart): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'compat-router-tables-'))
  try {
    const bench = spawn(
      process.execPath,
      [PROGRAMS[part.script], ...part.arguments, '--json', join(folder, 'bench.json')],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const exited = once(bench, 'exit')
    const printed = await text(bench.stdout)
    const [code] = await exited
    if (code !== 0) throw new Error(`${commandOf(part)} ended with ${code}`)
    return `\`${commandOf(part)}\`\n\n${printed}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { part: { type: 'string' } } })
  const parts = choose('part', MEASURED_PARTS, values.part)
  const changed = execFileSync('git', ['status', '--porcelain', '--', ...MEASURED], { encoding: 'utf8' })
  if (changed !== '') throw new Error(`Commit first, so that the tables can name their build:\n${changed}`)
  const measured: [name: string, tables: string][] = []
  for (const part of parts) {
    say(`measuring the part ${part.name}`)
    const from = performance.now()
    measured.push([part.name, await measure(part)])
    say(`${part.name}: ${format((performance.now() - from) / 60_000, 1)} minutes`)
  }
  let page = readFileSync(MEASURED_PAGE, 'utf8')
  for (const [name, tables] of measured) page = replacePart(page, name, tables)
  writeFileSync(MEASURED_PAGE, page)
  say(`written: ${MEASURED_PAGE}`)
}

runMain(main)
