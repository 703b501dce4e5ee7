import { describe, expect, it, onTestFinished } from 'vitest'
import { memoryLedger } from '../../src/index.js'
import type { Charge, LedgerStore } from '../../src/stores.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import { fails, startService } from '../routing/service.js'

async function start(ledger?: LedgerStore) {
  const clock = createSteppedClock()
  const service = await startService({ routes: [{}, {}], router: { clock, ...(ledger && { ledger }) } })
  onTestFinished(() => service.close())
  return { clock, service }
}

describe('the event at the end of a call', () => {
  it('says whether a stream was requested, and how long the route that answered took', async () => {
    const { clock, service } = await start()
    const [first, second] = service.upstreams
    first!.script(async (reply) => {
      await clock.elapse(300)
      reply.head(503)
      reply.end()
    })
    second!.scriptOnce(async (reply, request) => {
      await clock.elapse(70)
      expect(request.body).toMatchObject({ stream: true })
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write('data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n')
      await reply.write('data: [DONE]\n\n')
      reply.end()
    })
    const streamed = await service.end(await service.ask({ stream: true }))
    expect(streamed).toMatchObject({ stream: true, durationMs: 370, providerMs: 70, firstTokenMs: 70 })
    expect(await service.end(await service.ask())).toMatchObject({ stream: false })
  })

  it('names the route that failed last if none has answered', async () => {
    const { service } = await start()
    for (const upstream of service.upstreams) upstream.script(fails(503))
    const end = await service.end(await service.ask())
    expect(end).toMatchObject({ outcome: 'provider_overloaded', facts: { provider: 'p1' } })
    expect(end.charge).toBeUndefined()
  })

  it('names no route if none was tried', async () => {
    const { service } = await start()
    const { facts, providerMs } = await service.end(await service.ask({ max_tokens: 1_000_000 }))
    expect([facts?.model, facts?.provider, providerMs]).toEqual(['acme/fast', undefined, undefined])
  })

  it('is deeply frozen, including data of the caller and the breaker', async () => {
    const { service } = await start()
    service.upstreams[0]!.script(fails(503))
    for (let call = 0; call < 6; call++) await service.end(await service.ask())
    const end = await service.end(
      await service.ask({
        routing: { sort: 'price' },
        action: { name: 'search', steps: [{ at: 1 }] },
        connected: ['calendar'],
      }),
    )
    expect(end.routing?.behind).toHaveLength(1)
    expect(end.charge?.usage).toBeDefined()
    expect(unfrozenIn(end, 'event')).toEqual([])
  })

  it('has a frozen copy of a charge that the ledger returned, which the host may still change', async () => {
    const ledger = memoryLedger({ alice: '1' })
    const returned: Charge[] = []
    const { service } = await start({
      ...ledger,
      settle: async (request, context) => {
        const settled = await ledger.settle(request, context)
        const charge = { ...settled.charge, usage: { ...settled.charge.usage } }
        returned.push(charge)
        return { ...settled, charge }
      },
    })
    const { charge } = await service.end(await service.ask())
    expect(charge).toEqual(returned[0])
    expect(unfrozenIn(charge, 'charge')).toEqual([])
    expect([returned[0], returned[0]?.usage].map(Object.isFrozen)).toEqual([false, false])
  })
})

/** The paths in a value at which something could be changed. */
function unfrozenIn(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.entries(value).flatMap(([name, member]) => unfrozenIn(member, `${path}.${name}`))
  return Object.isFrozen(value) ? inside : [path, ...inside]
}
