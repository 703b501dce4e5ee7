import { describe, expect, it } from 'vitest'
import type { CallContext } from '../../src/contracts/context.js'
import type { RouterEvent } from '../../src/contracts/events.js'
import type { ChatAdapter, ProviderCall } from '../../src/contracts/providers.js'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import { CallAbort } from '../../src/engine/call/call-abort.js'
import { createEngine } from '../../src/engine/engine.js'
import { memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders } from '../../src/memory/index.js'
import { chat } from '../../src/operations/chat/index.js'
import { engineOptions } from '../../src/options.js'

const CONTEXT: CallContext = { requestId: 'test', signal: new AbortController().signal }

function writer(statuses: number[]): ReplyWriter {
  return {
    left: false,
    onLeave() {},
    send: (status) => statuses.push(status),
    openStream() {},
    write() {},
    end() {},
    drop() {},
  }
}

/** Calls an adapter that never answers by itself, twice at once, and shuts down. */
async function shutDownOn(listen: (call: ProviderCall) => void) {
  const events: RouterEvent[] = []
  const statuses: number[] = []
  const ledger = memoryLedger({ alice: '5' })
  let dialled = 0
  let allDialled = (): void => {}
  const bothDialled = new Promise<void>((resolve) => {
    allDialled = resolve
  })
  const adapter: ChatAdapter = {
    chat(call) {
      listen(call)
      if (++dialled === 2) allDialled()
      return new Promise(() => {})
    },
  }
  const engine = createEngine(
    engineOptions({
      credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice' } }),
      catalogue: memoryCatalogue([{ id: 'acme/fast', prices: { input: '1', output: '1' } }]),
      ledger,
      providers: memoryProviders([{ id: 'acme', models: { 'acme/fast': 'fast' }, adapter }]),
      onEvent: (event) => events.push(event),
    }),
  )
  const body = { model: 'acme/fast', messages: [{ role: 'user', content: 'Hello there' }] }
  const calls = ['one', 'two'].map((requestId) =>
    engine.run(
      chat,
      {
        requestId,
        headers: { authorization: 'Bearer sk-demo' },
        authorizationLines: 1,
        readBody: async () => body,
      },
      writer(statuses),
    ),
  )
  await bothDialled
  await engine.close({ graceMs: 0 })
  await Promise.all(calls)
  return { events, statuses, balance: await ledger.balance('alice', CONTEXT) }
}

describe('the abort of a call', () => {
  it('comes to each adapter, also where the listener of another throws, and every hold ends', async () => {
    const { events, statuses, balance } = await shutDownOn((call) =>
      call.abort?.listen(() => {
        throw new Error('the listener is broken')
      }),
    )
    expect(statuses).toEqual([503, 503])
    expect(balance).toMatchObject({ posted: 5_000_000_000n, held: 0n })
    const faults = events.filter((event) => event.type === 'fault')
    expect(faults.map(({ where, error }) => [where, error.message])).toEqual([
      ['adapter', 'the listener is broken'],
      ['adapter', 'the listener is broken'],
    ])
  })

  it('comes by the signal as well, made before or after', async () => {
    const signals: AbortSignal[] = []
    const kept: ProviderCall[] = []
    await shutDownOn((call) => {
      signals.push(call.signal)
      kept.push(call)
    })
    expect([...signals, ...kept.map(({ signal }) => signal)].map(({ aborted }) => aborted)).toEqual([
      true,
      true,
      true,
      true,
    ])
  })

  it('is told by the signal where a call was copied: it speaks for the very object alone', () => {
    const abort = new CallAbort()
    const call = abort.attachTo({
      request: { model: 'fast', messages: [] },
      stream: false,
      auth: { kind: 'host' },
      limits: { connectMs: 1, eventBytes: 1, replyBytes: 1 },
      requestId: 'one',
    })
    const copy = { ...call }
    expect([abort.speaksFor(call), abort.speaksFor(copy)]).toEqual([true, false])
    abort.abort()
    expect(copy.signal.aborted).toBe(true)
  })
})
