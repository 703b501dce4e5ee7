/** `npm run bench:processes`: several processes on one PostgreSQL ledger. See README.md. */
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startPostgresServer } from '../helpers/postgres-server.js'
import { readNames, readNumber, runMain, say } from './lib/arguments.js'
import { describeMachine, machineLine } from './lib/machine.js'
import type { ProcessJob, ProcessResult, ProcessSetup } from './lib/messages.js'
import { cpuSecondsAt, familyOf } from './lib/process-usage.js'
import { programCommand, startProgram } from './lib/program.js'
import { format } from './lib/report.js'
import { markdownTable } from './lib/table.js'

const HELP = `npm run bench:processes -- [options]

  --processes COUNTS  1,2,4,8
  --accounts COUNTS   1,1000,30000: one is a hot payer
  --commits NAMES     fast,slow: as fast as the disk, or with 5 ms a commit
  --callers N         200, in each process
  --warm N            5: seconds of load that are not counted
  --seconds N         5: seconds that are counted
  --dist DIR          dist: the folder of the built package
`

const SAMPLE_MS = 10
const CREDIT = 10n ** 15n
const SCHEMA = 'bench_processes'

const COMMITS = {
  fast: 'Commits as fast as the disk',
  // The first transaction of a group waits before it flushes, whether others are active or not.
  slow: 'Commits of 5 ms',
} as const
type Commits = keyof typeof COMMITS

interface Figures {
  readonly accounts: number
  readonly processes: number
  /** Pairs of hold and settlement per second, of all processes. */
  readonly rate: number
  /** Microseconds of processor time for each pair. */
  readonly routerMicros: number
  readonly serverMicros: number
  /** Of the samples of active transactions of the ledger, the share that waits for a lock of another. */
  readonly waitShare: number
}

interface Bench {
  readonly databaseUrl: string
  readonly dist: string
  readonly callers: number
  readonly job: ProcessJob
}

async function measure(bench: Bench, accounts: number, processes: number): Promise<Figures> {
  const { databaseUrl, dist, callers, job } = bench
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const setup: ProcessSetup = { dist, databaseUrl, schema: SCHEMA, accounts, callers }
  const start = () => startProgram({ command: programCommand('ledger-process', setup), core: 'any' })
  const programs = [await start()]
  try {
    await client.query(
      `insert into ${SCHEMA}.accounts (id, posted, created_at)
       select 'account-' || number, ${CREDIT}, 0 from generate_series(0, ${accounts - 1}) number`,
    )
    programs.push(...(await Promise.all(Array.from({ length: processes - 1 }, start))))
    const [answers, { cpuSeconds, waitShare }] = await Promise.all([
      Promise.all(programs.map((program) => program.ask<ProcessResult>(job))),
      watch(client, job),
    ])
    await checkBalances(client, BigInt(accounts) * CREDIT)
    const pairs = answers.reduce((sum, answer) => sum + answer.pairs, 0)
    const routerSeconds = answers.reduce((sum, answer) => sum + answer.cpuSeconds, 0)
    return {
      accounts,
      processes,
      rate: (pairs * 1_000) / job.measureMs,
      routerMicros: (routerSeconds * 1e6) / pairs,
      serverMicros: (cpuSeconds * 1e6) / pairs,
      waitShare,
    }
  } finally {
    await Promise.all(programs.map((program) => program.stop()))
    await client.query(`drop schema ${SCHEMA} cascade`)
    await client.end()
  }
}

/** Measures the server's processor time, and samples the locks that its transactions wait for. */
async function watch(
  client: pg.Client,
  { warmMs, measureMs }: ProcessJob,
): Promise<{ readonly cpuSeconds: number; readonly waitShare: number }> {
  await delay(warmMs)
  const { rows: ids } = await client.query(
    `select pg_backend_pid() as own, split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as server`,
  )
  const { own, server } = ids[0] as { own: number; server: string }
  const before = cpuSecondsBy(Number(server), own)
  const until = performance.now() + measureMs
  const samples = { all: 0, waiting: 0 }
  while (performance.now() < until) {
    const { rows } = await client.query(
      `select count(*)::int as all, count(*) filter (where wait_event_type = 'Lock')::int as waiting
       from pg_stat_activity where state = 'active' and query like '%apply_ledger%' and pid <> pg_backend_pid()`,
    )
    samples.all += rows[0].all
    samples.waiting += rows[0].waiting
    await delay(SAMPLE_MS)
  }
  let cpuSeconds = 0
  for (const [folder, seconds] of cpuSecondsBy(Number(server), own)) {
    cpuSeconds += seconds - (before.get(folder) ?? 0)
  }
  return { cpuSeconds, waitShare: samples.waiting / samples.all }
}

/** The processor time of each process of the server, except the one that serves the bench. */
function cpuSecondsBy(server: number, own: number): ReadonlyMap<string, number> {
  const folders = familyOf(server).filter((folder) => folder !== `/proc/${own}`)
  const known = folders.map((folder) => [folder, cpuSecondsAt(folder)] as const)
  return new Map(known.filter(([, seconds]) => !Number.isNaN(seconds)))
}

/** Every settlement adds up to zero, so the sum of all balances does not change. Earlier releases have no slots. */
async function checkBalances(client: pg.Client, expected: bigint): Promise<void> {
  const sumOf = async (table: string, column: string) => {
    const { rows } = await client.query(`select coalesce(sum(${column}), 0) as sum from ${SCHEMA}.${table}`)
    return BigInt(rows[0].sum)
  }
  const { rows } = await client.query(`select to_regclass('${SCHEMA}.earned') is not null as has_slots`)
  const sum = (await sumOf('accounts', 'posted')) + (rows[0].has_slots ? await sumOf('earned', 'amount') : 0n)
  if (sum !== expected) throw new Error(`The balances add up to ${sum}, not ${expected}`)
}

async function useCommits(databaseUrl: string, commits: Commits): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`alter system set commit_delay = ${commits === 'slow' ? 5_000 : 0}`)
  await client.query('alter system set commit_siblings = 0')
  await client.query('select pg_reload_conf()')
  await client.end()
}

function table(figures: readonly Figures[]): string {
  return markdownTable(
    [
      'accounts',
      'processes',
      'pairs/s',
      'to one',
      'router, µs a pair',
      'server, µs a pair',
      'waits for a lock',
    ],
    figures.map((found) => {
      const one = figures.find(({ accounts, processes }) => accounts === found.accounts && processes === 1)
      return [
        found.accounts === 1 ? 'one, hot' : format(found.accounts, 0),
        String(found.processes),
        format(found.rate, 0),
        one === undefined ? '' : format(found.rate / one.rate, 2),
        format(found.routerMicros, 0),
        format(found.serverMicros, 0),
        `${format(found.waitShare * 100, 1)} %`,
      ]
    }),
  )
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      processes: { type: 'string', default: '1,2,4,8' },
      accounts: { type: 'string', default: '1,1000,30000' },
      commits: { type: 'string', default: 'fast,slow' },
      callers: { type: 'string', default: '200' },
      warm: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '5' },
      dist: { type: 'string', default: 'dist' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return
  }
  const counts = (name: 'processes' | 'accounts') =>
    readNames(values[name]).map((text) => readNumber(name, text, 1))
  const chosen = readNames(values.commits).map((name) => {
    if (name in COMMITS) return name as Commits
    throw new Error(`--commits: unknown name ${JSON.stringify(name)}; known are fast, slow`)
  })
  console.log(machineLine(describeMachine()))
  const server = await startPostgresServer(['-c', 'max_connections=200'])
  try {
    const bench: Bench = {
      databaseUrl: server.url(),
      dist: resolve(values.dist),
      callers: readNumber('callers', values.callers, 1),
      job: {
        warmMs: readNumber('warm', values.warm, 0) * 1_000,
        measureMs: readNumber('seconds', values.seconds, 0.1) * 1_000,
      },
    }
    for (const commits of chosen) {
      await useCommits(bench.databaseUrl, commits)
      const figures: Figures[] = []
      for (const accounts of counts('accounts')) {
        for (const processes of counts('processes')) {
          say(`  ${commits}: ${processes} processes, ${accounts} accounts`)
          figures.push(await measure(bench, accounts, processes))
        }
      }
      console.log(`\n## ${COMMITS[commits]}\n\n${table(figures)}`)
    }
  } finally {
    await server.stop()
  }
}

runMain(main)
