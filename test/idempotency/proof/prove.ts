import { parseArgs } from 'node:util'
import pg from 'pg'
import { postgresStores } from '../../../src/postgres/index.js'
import { openAccounts } from '../../helpers/open-accounts.js'
import { startPostgresServer } from '../../helpers/postgres-server.js'
import { OPENING, type ProofResult, prove, type Setting } from './proof.js'
import { ACCOUNT } from './service.js'

/**
 * `npm run prove:idempotency -- --calls 10000 [--seed 1]` exits with 1 if any call was not charged exactly
 * once.
 */
const { values } = parseArgs({
  options: { calls: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
})
const options = { calls: Number(values.calls), seed: Number(values.seed) }
if (!Number.isSafeInteger(options.calls) || options.calls < 1 || !Number.isSafeInteger(options.seed)) {
  throw new TypeError('--calls must be a whole number of at least 1, --seed a whole number')
}

const results: ProofResult[] = []

async function run(setting: Setting): Promise<void> {
  const result = await prove(setting, options)
  results.push(result)
  const { problems, ...numbers } = result
  console.log(numbers)
  for (const problem of problems) console.error(`  ${problem}`)
}

await run({ name: 'memory, one process', processes: 1 })
await run({ name: 'memory, two routers with separate replies', processes: 2 })

const server = await startPostgresServer(['-c', 'max_connections=100'])
try {
  for (const processes of [1, 2]) {
    const name = `proof_${processes}`
    const admin = new pg.Client({ connectionString: server.url() })
    await admin.connect()
    await admin.query(`create database ${name}`)
    await admin.end()
    const url = server.url(name)
    const pool = new pg.Pool({ connectionString: url, max: 4 })
    const stores = postgresStores(pool)
    await openAccounts(stores.database, { [ACCOUNT]: OPENING })
    await run({
      name: `PostgreSQL, ${processes === 1 ? 'one process' : 'two processes'}`,
      processes,
      database: { url, ledger: stores.ledger },
    })
    await stores.close()
    await pool.end()
  }
} finally {
  await server.stop()
}

const wrong = results.filter(
  ({ calls, chargedOnce, problems }) => chargedOnce !== calls || problems.length > 0,
)
console.log(
  wrong.length === 0
    ? `Exactly one charge for each of ${options.calls} calls, in each of ${results.length} settings.`
    : `Not as it should be: ${wrong.map(({ setting }) => setting).join('; ')}`,
)
process.exitCode = wrong.length === 0 ? 0 : 1
