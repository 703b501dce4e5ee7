import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Program, startProgram } from '../../bench/lib/program.js'
import { decimal } from '../../helpers/decimals.js'
import { programFile } from '../../helpers/program.js'
import { post } from '../play-call.js'
import type { OursQuestion, OursSetup } from '../programs/ours-messages.js'
import type { CallFacts, Gateway, Owed, Policy, Target, Upstream } from '../target.js'
import { NOTHING, PRICES, priceOf } from '../usage.js'

const PROGRAM = new URL('../programs/ours.ts', import.meta.url)
const MANIFEST = new URL('../../../package.json', import.meta.url)
const MODEL = 'gpt-4o'
const PLENTY = '1000000'

const POLICY: Policy = {
  sources: [
    'docs/charging.md, "The truth table": how a call ends decides what is due',
    'docs/charging.md, "Hold": a call is admitted if its hold is available; no call exceeds a budget',
  ],
  owes,
  price: (usage) => priceOf(usage, PRICES),
  storedWithinMs: 0,
}

/** The rows of the truth table that apply to a router with default options. */
function owes({ ending, promptText, reported, sentText }: CallFacts): Owed {
  switch (ending) {
    case 'gateway killed':
      return { usage: NOTHING, because: 'streams in flight cost nothing if the process is killed' }
    case 'provider failed':
      return { usage: NOTHING, because: 'nobody pays if the provider breaks off' }
    case 'client left':
      return { usage: reported ?? estimate(promptText, sentText), because: 'the reply is read to its end' }
    case 'finished': {
      if (reported !== undefined) return { usage: reported }
      return { usage: estimate(promptText, sentText), because: 'an estimate' }
    }
  }
}

/** A token for each four bytes of UTF-8, rounded down. */
function estimate(promptText: string, sentText: string) {
  const tokens = (text: string): number => Math.floor(Buffer.byteLength(text) / 4)
  return { prompt: tokens(promptText), cached: 0, completion: tokens(sentText) }
}

/** The built package. Its stores are in memory, or in a SQLite file, which survives a kill. */
export async function oursTarget(stores: 'memory' | 'SQLite'): Promise<Target> {
  const { version } = JSON.parse(await readFile(MANIFEST, 'utf8')) as { version: string }
  return {
    name: stores === 'memory' ? 'ours' : 'ours-sqlite',
    version: `compat-router ${version}, as built in dist/`,
    settings: [`stores in ${stores}, all options by default`],
    policy: { ...POLICY, revokedWithinMs: stores === 'memory' ? 0 : 1_000 },
    start: (upstream) => startOurs(upstream, stores),
  }
}

async function startOurs(upstream: Upstream, stores: 'memory' | 'SQLite'): Promise<Gateway> {
  const folder = stores === 'memory' ? undefined : await mkdtemp(join(tmpdir(), 'compat-router-exactness-'))
  const setup: OursSetup = {
    upstream: upstream.baseUrl,
    model: MODEL,
    prices: PRICES,
    ...(folder !== undefined && { file: join(folder, 'ours.db') }),
  }
  let program = await startOwn(setup)
  const ask = <Answer>(question: OursQuestion): Promise<Answer> => program.ask<Answer>(question)
  const gateway: Gateway = {
    get url() {
      return `http://127.0.0.1:${(program.ready as { port: number }).port}/chat/completions`
    },
    model: MODEL,
    headers: {},
    key: await ask<string>({ what: 'open-credit', amount: PLENTY }),
    idempotencyHeader: 'idempotency-key',
    charges: async () => (await ask<string[]>({ what: 'charges' })).map(BigInt),
    async reserve(limit) {
      const what = limit === 'credit' ? 'open-credit' : 'open-cap'
      await post(gateway, { mode: 'JSON', key: await ask<string>({ what, amount: PLENTY }) }).over
      return BigInt(await ask<string>({ what: 'last-hold' }))
    },
    openCredit: (amount) => ask({ what: 'open-credit', amount: decimal(amount) }),
    openCap: (amount) => ask({ what: 'open-cap', amount: decimal(amount) }),
    openKey: () => ask({ what: 'open-credit', amount: PLENTY }),
    revoke: (key) => ask({ what: 'revoke', key }),
    ...(folder !== undefined && {
      async killAndRestart() {
        process.kill(program.processId, 'SIGKILL')
        await program.ends(KILL_PATIENCE_MS)
        program = await startOwn(setup)
      },
    }),
    async stop() {
      await ask({ what: 'close' })
      await program.stop()
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    },
  }
  return gateway
}

const KILL_PATIENCE_MS = 10_000

async function startOwn(setup: OursSetup): Promise<Program> {
  return startProgram({
    command: [process.execPath, await programFile(PROGRAM), JSON.stringify(setup)],
    core: 'system',
  })
}
