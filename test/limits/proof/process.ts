import { createServer } from 'node:http'
import { systemClock } from '../../../src/base/clock.js'
import { ProviderError } from '../../../src/base/errors.js'
import type { ProviderAdapter } from '../../../src/contracts/index.js'
import { createCompatRouter, memoryCatalogue, memoryProviders } from '../../../src/index.js'
import { listenHttp } from '../../helpers/listen-http.js'
import { seeded } from '../../idempotency/proof/random.js'
import { spoil } from './bugs.js'
import { openStores } from './stores.js'
import { watchRefusals } from './watch-refusals.js'
import { CHEAP, callersOf, DEAR, MAX_TOKENS, MODEL, type World } from './world.js'

// Runs as a process of its own that is meant to be killed: a router on a socket, and callers who use it. Writes a line
// of JSON for each call that has ended and for each refusal of the ledger.

interface Start {
  readonly world: World
  readonly calls: number
  readonly callers: number
  readonly seed: number
  /** How far this process's clock is wrong. */
  readonly skewMs: number
}

const start = JSON.parse(process.argv[2]!) as Start
const { world } = start
const random = seeded(start.seed)
const { stores, close } = openStores(world)
const callers = callersOf(world)
const toJson = (line: object) =>
  JSON.stringify(line, (_, value) => (typeof value === 'bigint' ? String(value) : value))
const report = (line: object) => process.stdout.write(`${toJson(line)}\n`)

/** A provider that fails a part of its calls, and answers the others after a moment. */
function provider(failing: number): ProviderAdapter {
  return {
    async chat({ request, signal }, take) {
      await new Promise<void>((resolve) => setTimeout(resolve, random() * 10))
      if (signal.aborted) throw signal.reason
      if (random() < failing) throw new ProviderError('unreachable', 'The provider is out of order')
      const completion = Math.ceil(random() * MAX_TOKENS)
      await take([
        {
          type: 'completion',
          completion: {
            id: 'c',
            object: 'chat.completion',
            created: 0,
            model: request.model,
            choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
          } as never,
        },
        { type: 'usage', usage: { prompt: 9, completion } as never },
      ])
      return { terminated: true }
    },
  }
}

const router = createCompatRouter({
  clock: { now: () => Date.now() + start.skewMs, after: systemClock.after },
  credentials: {
    resolve: (token) => {
      const principal = callers.get(token)
      return principal === undefined ? { ok: false, reason: 'unknown' } : { ok: true, principal }
    },
  },
  catalogue: memoryCatalogue([{ id: MODEL, prices: CHEAP }]),
  ledger: watchRefusals(spoil(stores.ledger, world.bug), world.engine === 'SQLite', (refusal) =>
    report({ refusal }),
  ),
  providers: memoryProviders([
    { id: 'cheap', models: { [MODEL]: 'cheap' }, adapter: provider(0.4) },
    { id: 'dear', models: { [MODEL]: 'dear' }, adapter: provider(0.1), prices: DEAR },
  ]),
  timeouts: { storeMs: 60_000, settleWaitMs: 60_000 },
  onEvent(event) {
    if (event.type === 'fault' || event.type === 'charge-failed') report({ fault: toJson(event) })
  },
})
const host = await listenHttp(
  createServer((req, res) => router(req, res)),
  '',
)
let left = start.calls
async function call(): Promise<void> {
  const token = [...callers.keys()][Math.floor(random() * callers.size)]!
  const leaves = random() < 0.1 ? AbortSignal.timeout(Math.ceil(random() * 15)) : undefined
  try {
    const response = await fetch(`http://127.0.0.1:${host.port}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: MODEL,
        messages: [{ role: 'user', content: 'Hello, who are you?' }],
        max_tokens: MAX_TOKENS,
      }),
      ...(leaves !== undefined && { signal: leaves }),
    })
    const body = (await response.json()) as { error?: { code?: string } }
    report({ status: response.status, code: body.error?.code })
  } catch {
    report({ status: 0 })
  }
}
async function work(): Promise<void> {
  while (left-- > 0) await call()
}
await stores.ready()
await Promise.all(Array.from({ length: start.callers }, work))
await router.close({ graceMs: 30_000 })
await host.close()
await close()
process.exit(0)
