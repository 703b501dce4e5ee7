import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startPostgresServer } from '../../helpers/postgres-server.js'
import { prove } from './proof.js'
import { BINDING, type World } from './world.js'

/**
 * `npm run prove:limits -- [--calls 2000] [--processes 4] [--kills 20] [--seed 1]` exits with 1 if a limit was exceeded or a
 * call was refused that would have fitted. `--calls` is the number for each process.
 */
const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '2000' },
    processes: { type: 'string', default: '4' },
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
  },
})
const [calls, processes, kills, seed] = [values.calls, values.processes, values.kills, values.seed].map(
  Number,
)
let isRight = true

async function run(world: World, killed: number): Promise<void> {
  const options = { world, processes: processes!, callers: 40, kills: killed, seed: seed!, skewMs: 30_000 }
  const { problems, ...numbers } = await prove(options)
  console.log(`${world.engine}, ${world.kind}:`, numbers)
  for (const problem of problems) console.error(`  ${problem}`)
  const rate = numbers.usedPercent['rate:requests/total']
  const unused = world.kind === 'overlap' ? BINDING.filter((limit) => !numbers.refusedBy[limit]) : []
  for (const limit of unused) console.error(`  ${limit} refused nothing: make more calls`)
  if (problems.length + unused.length > 0 || (rate !== undefined && rate < 99)) isRight = false
}

const folder = mkdtempSync(join(tmpdir(), 'compat-router-limits-'))
const server = await startPostgresServer(['-c', 'max_connections=100'])
try {
  for (const kind of ['overlap', 'rate'] as const) {
    const killed = kind === 'overlap' ? kills! : 0
    await run(
      { engine: 'SQLite', place: join(folder, `${kind}.db`), calls: calls! * processes!, kind },
      killed,
    )
    const admin = new pg.Client({ connectionString: server.url() })
    await admin.connect()
    await admin.query(`create database proof_${kind}`)
    await admin.end()
    await run(
      { engine: 'PostgreSQL', place: server.url(`proof_${kind}`), calls: calls! * processes!, kind },
      killed,
    )
  }
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
console.log(isRight ? 'No limit was exceeded, and nothing was refused that fits.' : 'Not as it should be.')
process.exitCode = isRight ? 0 : 1
