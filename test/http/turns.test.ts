import { AsyncLocalStorage } from 'node:async_hooks'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import { TurnGate } from '../../src/base/turn-gate.js'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
} from '../../src/index.js'
import { asWire } from '../../src/protocol/wire-bytes.js'
import { testHandler } from './fixture.js'

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A server that answers all calls in one turn, once as many as `calls` have arrived. */
async function startCrowd(calls: number, around: (res: ServerResponse, run: () => void) => void) {
  const waiting: (() => void)[] = []
  const { handler, faults } = testHandler({
    chatCompletions: async (call, writer) => {
      const { value: body } = await call.readBody('alice')
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length === calls) for (const answer of waiting.splice(0)) answer()
      })
      writer.send(200, {}, asWire(JSON.stringify(body)))
    },
  })
  const server = createServer((req, res) => around(res, () => handler(req, res)))
  const url = `${await listen(server)}/chat/completions`
  const ask = (number: number) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ number }),
    })
  return { ask, faults }
}

describe('many concurrent calls', () => {
  it('reach their own clients completely, each sent in the async context of its request', async () => {
    const context = new AsyncLocalStorage<number>()
    let requests = 0
    const seen: [number, number | undefined][] = []
    const { ask, faults } = await startCrowd(20, (res, run) => {
      const request = ++requests
      const end = res.end.bind(res)
      res.end = ((...values: Parameters<typeof end>) => {
        seen.push([request, context.getStore()])
        return end(...values)
      }) as typeof res.end
      context.run(request, run)
    })
    const replies = await Promise.all(Array.from({ length: 20 }, (_, number) => ask(number)))
    for (const [number, reply] of replies.entries()) expect(await reply.json()).toEqual({ number })
    expect(seen).toHaveLength(20)
    for (const [request, store] of seen) expect(store).toBe(request)
    expect(faults).toEqual([])
  })

  it('report a host whose `end()` throws, without disturbing other calls', async () => {
    let requests = 0
    const { ask, faults } = await startCrowd(12, (res, run) => {
      if (++requests === 5) {
        res.end = () => {
          throw new Error('a broken middleware')
        }
      }
      run()
    })
    const replies = await Promise.allSettled(Array.from({ length: 12 }, (_, number) => ask(number)))
    expect(replies.filter(({ status }) => status === 'fulfilled')).toHaveLength(11)
    expect(faults).toMatchObject([{ where: 'http reply', error: { message: 'a broken middleware' } }])
  })

  it('start together, each in the async context of its request', async () => {
    const context = new AsyncLocalStorage<number>()
    let requests = 0
    const steps: string[] = []
    const stores: (number | undefined)[] = []
    const turns = new TurnGate(true)
    const { handler } = testHandler(
      {
        async listModels(_, writer) {
          const store = context.getStore()
          stores.push(store)
          steps.push('begin')
          await undefined
          steps.push('answer')
          writer.send(200, {}, asWire('{}'))
        },
      },
      { turns },
    )
    for (let other = 0; other < 9; other++) turns.enter()
    const held: (() => void)[] = []
    const server = createServer((req, res) => {
      const request = ++requests
      held.push(() => context.run(request, () => handler(req, res)))
      if (held.length === 5) void beginAll()
    })
    const beginAll = async (): Promise<void> => {
      for (const run of held) {
        run()
        // Time for all steps of this one, in the same turn.
        for (let step = 0; step < 10; step++) await undefined
      }
    }
    const url = `${await listen(server)}/models`
    await Promise.all(Array.from({ length: 5 }, () => fetch(url)))
    expect(stores).toEqual([1, 2, 3, 4, 5])
    expect(steps).toEqual([...Array(5).fill('begin'), ...Array(5).fill('answer')])
  })

  it('do not touch an answer that the host gave while its call waited to start', async () => {
    const turns = new TurnGate(true)
    const { handler, faults } = testHandler(
      { listModels: async (_, writer) => writer.send(200, {}, asWire('{}')) },
      { turns },
    )
    for (let other = 0; other < 9; other++) turns.enter()
    const server = createServer((req, res) => {
      handler(req, res)
      res.end('the host')
    })
    const reply = await fetch(`${await listen(server)}/models`)
    expect(await reply.text()).toBe('the host')
    expect(faults).toEqual([])
  })

  it('are sent by the time `close()` settles', async () => {
    let open = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const adapter: ProviderAdapter = {
      async chat(_, take) {
        await gate
        const message = { role: 'assistant', content: 'Hi' }
        take([
          { type: 'completion', completion: { choices: [{ index: 0, message, finish_reason: 'stop' }] } },
        ])
        return { terminated: true }
      },
    }
    const router = createCompatRouter({
      basePath: '/v1',
      credentials: memoryCredentials({ key: { kind: 'api-key', account: 'alice' } }),
      catalogue: memoryCatalogue([{ id: 'm', prices: { input: '1', output: '1' } }]),
      ledger: memoryLedger({ alice: '100' }),
      providers: memoryProviders([{ id: 'p', models: { m: 'm' }, adapter }]),
    })
    const responses: ServerResponse[] = []
    const server = createServer((req, res) => {
      responses.push(res)
      router(req, res)
    })
    const url = `${await listen(server)}/v1/chat/completions`
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
    const headers = { authorization: 'Bearer key', 'content-type': 'application/json' }
    const asked = Array.from({ length: 20 }, () => fetch(url, { method: 'POST', headers, body }))
    await expect.poll(() => router.inFlight).toBe(20)
    const closed = router.close()
    open()
    await closed
    expect(responses.map(({ writableEnded }) => writableEnded)).toEqual(responses.map(() => true))
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200)
  })
})
