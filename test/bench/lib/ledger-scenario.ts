import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startPostgresServer } from '../../helpers/postgres-server.js'
import { say } from './arguments.js'
import type { LedgerJob } from './messages.js'
import { programCommand, startProgram } from './program.js'
import { format } from './report.js'
import { spreadOf } from './statistics.js'
import { markdownTable } from './table.js'

export const LEDGER_TITLE = 'Ledgers by themselves: pairs of hold and settlement a second, 200 at once'

export const GROUPING_TITLE = 'Ledgers: calls grouped in a commit beside a commit for each'

/** Pairs per second by round, by store and number of accounts. */
export type LedgerSamples = Readonly<Record<string, readonly number[]>>

const STORES = ['memory', 'sqlite', 'postgres'] as const
const ACCOUNTS = [1_000, 1] as const
const CALLERS = 200
const GROUPING_PATIENCE_MS = 900_000

/** Uses the PostgreSQL at `DATABASE_URL`, or starts its own with fsync on. */
export async function measureLedgers(
  dist: string,
  rounds: number,
  measureMs: number,
): Promise<LedgerSamples> {
  const own = process.env.DATABASE_URL ? undefined : await startPostgresServer()
  const samples: Record<string, number[]> = {}
  try {
    const databaseUrl = process.env.DATABASE_URL || own!.url()
    for (let round = 0; round < rounds; round++) {
      for (const store of STORES) {
        for (const accounts of ACCOUNTS) {
          const job: LedgerJob = { store, dist, databaseUrl, accounts, callers: CALLERS, measureMs }
          const name = sampleName(store, accounts)
          const values = samples[name] ?? []
          samples[name] = values
          values.push(await measureOne(job))
          say(`  round ${round + 1}: ${name}: ${format(values.at(-1)!, 0)} pairs/s`)
        }
      }
    }
  } finally {
    await own?.stop()
  }
  return samples
}

async function measureOne(job: LedgerJob): Promise<number> {
  const program = await startProgram({ command: programCommand('ledger-pairs', {}), core: 'system' })
  try {
    return await program.ask<number>(job)
  } finally {
    await program.stop()
  }
}

function sampleName(store: string, accounts: number): string {
  return `${store}, ${accounts === 1 ? 'one hot account' : `${accounts} accounts`}`
}

/** The output of `npm run bench:ledger`: one commit for many calls compared with one for each. */
export async function compareGrouping(rounds: number, measureMs: number): Promise<string> {
  const file = 'test/bench/ledger.ts'
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', file, String(rounds), String(measureMs / 1_000)],
    { timeout: GROUPING_PATIENCE_MS },
  )
  return stdout.trim()
}

export function ledgerTable(samples: LedgerSamples): string {
  return markdownTable(
    ['ledger', 'pairs/s', 'least', 'most'],
    Object.entries(samples).map(([name, values]) => {
      const { median, min, max } = spreadOf(values)
      return [name, format(median, 0), format(min, 0), format(max, 0)]
    }),
  )
}
