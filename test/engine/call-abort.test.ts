import { describe, expect, it } from 'vitest'
import type { CallContext } from '../../src/contracts/context.js'
import type { RouterEvent } from '../../src/contracts/events.js'
import type { ProviderAdapter, ProviderCall } from '../../src/contracts/providers.js'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import { createEngine } from '../../src/engine/engine.js'
import { memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders } from '../../src/memory/index.js'
import { chat } from '../../src/operations/chat/index.js'
import { engineOptions } from '../../src/options.js'
import { headersOf } from '../helpers/headers-of.js'

const CONTEXT: CallContext = { requestId: 'test', signal: new AbortController().signal }

function writer(statuses: number[]): ReplyWriter {
  return {
    left: false,
    onLeave() {},
    send(status) {
      statuses.push(status)
    },
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
  const adapter: ProviderAdapter = {
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
        ...headersOf({ authorization: 'Bearer sk-demo' }),
        authorizationLines: 1,
        allowOrigin: () => {},
        query: '',
        readBody: async () => ({ value: body, bytes: 100 }),
      },
      writer(statuses),
    ),
  )
  await bothDialled
  await engine.close({ graceMs: 0 })
  await Promise.all(calls)
  return { events, statuses, balance: await ledger.balance('alice', CONTEXT) }
}

describe('aborting a call', () => {
  it('reaches each adapter through the signal, and ends every hold', async () => {
    const aborted: boolean[] = []
    const { events, statuses, balance } = await shutDownOn(({ signal }) =>
      signal.addEventListener('abort', () => aborted.push(signal.aborted)),
    )
    expect(aborted).toEqual([true, true])
    expect(statuses).toEqual([503, 503])
    expect(balance).toMatchObject({ posted: 5_000_000_000n, held: 0n })
    expect(events.filter((event) => event.type === 'fault')).toEqual([])
  })
})
