import { describe, expect, it } from 'vitest'
import type { Route } from '../../src/contracts/index.js'
import type { RouterEvent } from '../../src/index.js'
import { chat } from '../../src/operations/chat/index.js'
import { FINISH, ignoringClient, openEngine, streamedCall, TOKEN } from './one-call.js'

/** Makes a call over a route with these members, and returns its status and what the host hears of the store. */
async function call(members: object): Promise<{ status: unknown; says: readonly string[] }> {
  const events: RouterEvent[] = []
  const adapter = {
    chat: async (_call: unknown, take: (events: readonly (typeof TOKEN)[]) => unknown) => {
      await take([TOKEN, FINISH])
      return { terminated: true }
    },
  }
  const route = { id: 'own', provider: 'own', upstreamModel: 'fast', adapter, ...members } as unknown as Route
  const engine = openEngine(adapter, {
    providers: { routes: () => [route] },
    onEvent: (event) => void events.push(event),
  })
  await engine.run(chat, streamedCall, ignoringClient)
  expect([engine.inFlight, engine.openHolds]).toEqual([0, 0])
  await engine.close({ graceMs: 0 })
  return {
    status: events.find((event) => event.type === 'request-end')?.status,
    says: events.flatMap((event) => (event.type === 'store-fault' ? [event.error.message] : [])),
  }
}

describe("a route of the host's own registry", () => {
  it.each([
    ['enabled', 'no', 'one of true, false'],
    ['enabled', 0, 'one of true, false'],
    ['byok', true, 'one of "yes", "no", "only"'],
    ['onDisconnect', 'stop', 'one of "abort", "drain"'],
    ['promptEscapes', 'x', 'one of "ascii", "html"'],
    ['weight', Number.NaN, 'a number from 0 up'],
    ['weight', -1, 'a number from 0 up'],
    ['defaultOutputTokens', 1.5, 'a whole number above 0'],
    ['supportedParameters', {}, 'a list'],
  ])('gets no call if its %s is %j, and the host hears why', async (field, value, wanted) => {
    expect(await call({ [field]: value })).toEqual({
      status: 500,
      says: [`The providers store broke its contract: ${field} of the route 'own' is not ${wanted}.`],
    })
  })

  it('may have null for what it lacks, as database rows do', async () => {
    const none = { enabled: null, byok: null, onDisconnect: null, promptEscapes: null, weight: null }
    expect(await call({ ...none, defaultOutputTokens: null, supportedParameters: null })).toEqual({
      status: 200,
      says: [],
    })
  })
})
