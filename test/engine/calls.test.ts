import { describe, expect, it, onTestFinished } from 'vitest'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import { type CallInFlight, memoryCredentials } from '../../src/index.js'
import { chat } from '../../src/operations/chat/index.js'
import { createDeferred } from '../helpers/deferred.js'
import { ALICE, fails, MODEL, type ServiceOptions, startService } from '../routing/service.js'
import { openEngine, streamedCall } from './one-call.js'

async function start(options?: ServiceOptions) {
  const service = await startService(options)
  onTestFinished(() => service.close())
  return service
}

describe("a router's list of calls", () => {
  it('has those that have arrived and not ended, including their charge, newest first', async () => {
    const service = await start()
    const { calls } = service.router
    const arrived = [createDeferred(), createDeferred()]
    const go = createDeferred()
    let asked = 0
    service.upstreams[0]!.script(async (reply) => {
      arrived[asked++]!.resolve()
      await go.promise
      reply.head(500)
      reply.end()
    })
    const first = service.ask({ session_id: 's1' })
    await arrived[0]!.promise
    const second = service.ask()
    await arrived[1]!.promise
    const seen = calls()
    const starts = service.events.filter((event) => event.type === 'request-start')
    expect(seen[0]!.startedAt).toBeGreaterThanOrEqual(seen[1]!.startedAt)
    // Both may arrive within one millisecond.
    const inOrder = seen.toSorted((one, other) => (one.requestId < other.requestId ? -1 : 1))
    expect(inOrder).toMatchObject(
      starts.map(({ at, requestId }) => ({ requestId, startedAt: at, facts: { requestId } })),
    )
    expect(inOrder[0]!.facts).toMatchObject({ account: 'alice', model: MODEL, sessionId: 's1' })
    for (const call of seen) {
      expect([Object.isFrozen(call), Object.isFrozen(call.facts)]).toEqual([true, true])
    }
    go.resolve()
    for (const answer of await Promise.all([first, second])) await service.end(answer)
    expect(calls()).toEqual([])
  })

  it('includes calls whose credential is still being looked up', async () => {
    const known = createDeferred()
    const asked = createDeferred()
    const { resolve } = memoryCredentials({ [ALICE]: { kind: 'api-key', account: 'alice' } })
    const service = await start({
      router: {
        credentials: {
          async resolve(digest, context) {
            asked.resolve()
            await known.promise
            return resolve(digest, context)
          },
        },
      },
    })
    const answer = service.ask()
    await asked.promise
    expect(service.router.inFlight).toBe(0)
    expect(service.router.calls()).toEqual([{ requestId: 'call-1', startedAt: expect.any(Number) }])
    known.resolve()
    await service.end(await answer)
    expect(service.router.calls()).toEqual([])
  })

  it('distinguishes calls to which clients gave the same id', async () => {
    const service = await start()
    const both = createDeferred()
    const seen: (readonly CallInFlight[])[] = []
    let asked = 0
    service.upstreams[0]!.script(async (reply) => {
      if (++asked === 2) both.resolve()
      await both.promise
      seen.push(service.router.calls())
      reply.head(500)
      reply.end()
    })
    const sameId = { 'x-request-id': 'shared' }
    await Promise.all([service.ask({}, sameId), service.ask({}, sameId)])
    expect(seen[0]).toMatchObject([{ requestId: 'shared' }, { requestId: 'shared' }])
    await expect.poll(() => service.router.calls()).toEqual([])
  })

  it('does not include requests for models', async () => {
    const seen: (readonly CallInFlight[])[] = []
    const service = await start({
      router: {
        catalogue: {
          get: () => undefined,
          list: () => {
            seen.push(service.router.calls())
            return []
          },
        },
      },
    })
    const response = await fetch(`${service.url}/models`, { headers: { authorization: `Bearer ${ALICE}` } })
    expect([response.status, seen]).toEqual([200, [[]]])
  })

  it('does not include refused requests', async () => {
    const service = await start()
    service.upstreams[0]!.script(fails(400))
    expect((await service.ask({ model: 'none/such' })).status).toBe(404)
    expect((await service.ask({}, { authorization: 'Bearer nobody' })).status).toBe(401)
    expect((await service.ask()).status).toBe(400)
    expect(service.router.calls()).toEqual([])
  })

  it('does not include requests whose answer cannot be sent', async () => {
    const engine = openEngine({ chat: () => Promise.reject(new Error('no provider')) }, {})
    const writer: ReplyWriter = {
      left: false,
      onLeave: () => undefined,
      send() {
        throw new Error('the writer is broken')
      },
      openStream: () => undefined,
      write: () => undefined,
      end: () => undefined,
      drop: () => undefined,
    }
    await expect(engine.run(chat, streamedCall, writer)).rejects.toThrow('the writer is broken')
    expect(engine.calls()).toEqual([])
  })
})
