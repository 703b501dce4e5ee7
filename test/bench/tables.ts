/** `npm run bench:tables`: measures, and writes the tables of docs/performance.md. See README.md. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { runMain, say } from './lib/arguments.js'
import { MEASURED_PAGE, MEASURED_PARTS, type MeasuredPart, replacePart } from './lib/measured-tables.js'

const BENCH = fileURLToPath(new URL('./bench.js', import.meta.url))
/** What a figure depends on. */
const MEASURED = ['src', 'package-lock.json']

/** Runs the bench, which prints the machine, the versions and the commit before its tables. */
async function measure(part: MeasuredPart): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'compat-router-tables-'))
  try {
    const bench = spawn(process.execPath, [BENCH, ...part.arguments, '--json', join(folder, 'bench.json')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = once(bench, 'exit')
    const printed = await text(bench.stdout)
    const [code] = await exited
    if (code !== 0) throw new Error(`npm run bench -- ${part.arguments.join(' ')} ended with ${code}`)
    return `\`npm run bench -- ${part.arguments.join(' ')}\`\n\n${printed}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function main(): Promise<void> {
  const changed = execFileSync('git', ['status', '--porcelain', '--', ...MEASURED], { encoding: 'utf8' })
  if (changed !== '') throw new Error(`Commit first, so that the tables can name their build:\n${changed}`)
  const measured: [name: string, tables: string][] = []
  for (const part of MEASURED_PARTS) {
    say(`measuring the part ${part.name}`)
    measured.push([part.name, await measure(part)])
  }
  let page = readFileSync(MEASURED_PAGE, 'utf8')
  for (const [name, tables] of measured) page = replacePart(page, name, tables)
  writeFileSync(MEASURED_PAGE, page)
  say(`written: ${MEASURED_PAGE}`)
}

runMain(main)
