import { createSecret } from '../../src/base/secret.js'
import type { Awaitable } from '../../src/contracts/context.js'
import type { EngineOptions } from '../../src/contracts/engine-options.js'
import type { IdempotencyStore } from '../../src/contracts/idempotency.js'
import type { ProviderCall } from '../../src/contracts/providers.js'
import { never } from './ledger-link.js'
import type { SimProcess } from './sim-process.js'
import { dial, type Take } from './upstream.js'
import { turns } from './virtual-time.js'

type Stores = Pick<EngineOptions, 'credentials' | 'catalogue' | 'providers' | 'envelopes' | 'admit'>

/** The stores of one process: they answer at once or later, throw, or never answer. */
export function createStores(process: SimProcess): Stores {
  const { scenario } = process.world
  const routes = scenario.routes.map((route) => ({
    ...route,
    adapter: {
      chat: (call: ProviderCall, take: Take) => dial(process, route, call, take),
      takesKeys: true,
      hasKey: true,
    },
  }))
  const ask = <Answer>(requestId: string, name: string, answer: () => Answer): Awaitable<Answer> =>
    unreliable(process, requestId, name, answer)
  return {
    credentials: {
      resolve: (token, { requestId }) =>
        ask(requestId, 'credentials', () => {
          const caller = scenario.callers.find((known) => known.token === token)
          if (caller === undefined) return { ok: false, reason: 'unknown' } as const
          return { ok: true, principal: caller.principal } as const
        }),
    },
    catalogue: {
      list: () => [scenario.model],
      get: (id, { requestId }) =>
        ask(requestId, 'catalogue', () => (id === scenario.model.id ? scenario.model : undefined)),
    },
    providers: { routes: (_model, { requestId }) => ask(requestId, 'registry', () => routes) },
    envelopes: {
      open: (_envelope, _binding, { requestId }) =>
        ask(requestId, 'opener', () => ({ ok: true, secret: createSecret('the-callers-own-key') }) as const),
    },
    admit: (_principal, { requestId }) =>
      ask(requestId, 'admit', () =>
        process.world.random.chance(scenario.faults.stores)
          ? ({ ok: false, retryAfterSeconds: 3 } as const)
          : ({ ok: true } as const),
      ),
  }
}

function unreliable<Answer>(
  process: SimProcess,
  requestId: string,
  name: string,
  answer: () => Answer,
): Awaitable<Answer> {
  if (!process.alive) return never()
  process.step(requestId, name)
  const { world } = process
  const { random } = world
  if (!random.chance(world.scenario.faults.stores)) {
    return random.chance(0.5) ? answer() : later(process, random.int(0, 4), 0, answer)
  }
  const ms = random.pick([0, 10, 59, 60, 61, 500])
  return random.weighted<() => Awaitable<Answer>>([
    [2, () => later(process, 2, ms, answer)],
    [2, () => later(process, 2, ms, () => failed(name))],
    [1, () => never()],
    [1, () => failed(name)],
  ])()
}

async function later<Answer>(process: SimProcess, count: number, ms: number, answer: () => Answer) {
  if (ms > 0) await process.world.sleep(ms)
  await turns(count)
  return process.hears(Promise.resolve().then(answer))
}

function failed(name: string): never {
  throw new Error(`${name} is broken`)
}

/** The connection of one process to the shared replies. */
export function createIdempotencyLink(process: SimProcess, shared: IdempotencyStore): IdempotencyStore {
  const { world } = process
  async function send<Answer>(name: string, requestId: string, act: () => Promise<Answer>): Promise<Answer> {
    if (!process.alive) return never()
    process.step(requestId, `idempotency ${name}`)
    const { random } = world
    if (!random.chance(world.scenario.faults.idempotency)) {
      await turns(random.int(0, 3))
      return process.hears(act())
    }
    const ms = random.pick([0, 20, 59, 60, 300])
    const [arrives, answers] = random.pick([
      [true, true],
      [true, false],
      [false, false],
    ])
    const answer = arrives ? world.sleep(ms).then(act) : undefined
    answer?.catch((error) => world.violate(`idempotency ${name}: ${String(error)}`))
    if (answers) return process.hears(answer!)
    if (random.chance(0.4)) return never()
    await process.hears(world.sleep(random.int(0, 70)))
    throw new Error('The idempotency store was lost')
  }
  return {
    claim: (request, context) =>
      send('claim', context.requestId, async () => {
        if (world.scenario.forgetsReplies) await shared.abandon(request.claim, context)
        return shared.claim(request, context)
      }),
    complete: (claim, reply, ttlMs, context) =>
      send('complete', context.requestId, async () => {
        if (!world.scenario.forgetsReplies) await shared.complete(claim, reply, ttlMs, context)
      }),
    abandon: (claim, context) => send('abandon', context.requestId, () => shared.abandon(claim, context)),
  }
}
