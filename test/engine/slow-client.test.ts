import { expect, it } from 'vitest'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import type { ReplyWriter } from '../../src/contracts/reply.js'
import { createEngine } from '../../src/engine/engine.js'
import { memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders } from '../../src/memory/index.js'
import { engineOptions } from '../../src/options.js'
import { turns } from '../helpers/stepped-clock.js'

const data = (chunk: object): ProviderEvent => ({ type: 'data', bytes: JSON.stringify(chunk) })
const TOKEN = data({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] })
const FINISH = data({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })

/** One streamed call that is answered in `reads`, for a client that takes what it is sent when `drained` is settled. */
async function stream(reads: readonly ProviderEvent[][], drained: Promise<void>) {
  const seen: string[] = []
  const writer: ReplyWriter = {
    left: false,
    onLeave() {},
    send() {},
    openStream() {},
    write() {
      seen.push('write')
      return drained
    },
    end(bytes) {
      seen.push(bytes.endsWith('data: [DONE]\n\n') ? 'done' : 'end')
    },
    drop() {},
  }
  const engine = createEngine(
    engineOptions({
      credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice' } }),
      catalogue: memoryCatalogue([{ id: 'acme/fast', prices: { input: '1', output: '1' } }]),
      ledger: memoryLedger({ alice: '5' }),
      providers: memoryProviders([
        {
          id: 'acme',
          models: { 'acme/fast': 'fast' },
          adapter: {
            async chat(_call, take) {
              for (const [place, events] of reads.entries()) {
                await take(events)
                seen.push(`read ${place + 1}`)
              }
              return { terminated: true }
            },
          },
        },
      ]),
    }),
  )
  const call = {
    requestId: 'one',
    headers: { authorization: 'Bearer sk-demo' },
    authorizationLines: 1,
    readBody: async () => ({ model: 'acme/fast', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
  }
  return { seen, over: engine.chatCompletions(call, writer), close: () => engine.close() }
}

it('sends the end of a stream with the text that finishes it, though the client takes nothing', async () => {
  const { seen, over, close } = await stream([[TOKEN, FINISH]], new Promise(() => {}))
  await over
  expect(seen).toEqual(['write', 'read 1', 'done'])
  await close()
})

it('reads no more of a stream that goes on until the client has taken what came', async () => {
  let drain = (): void => {}
  const drained = new Promise<void>((resolve) => {
    drain = resolve
  })
  const { seen, over, close } = await stream([[TOKEN], [TOKEN, FINISH]], drained)
  await turns(50)
  expect(seen).toEqual(['write'])
  drain()
  await over
  expect(seen).toEqual(['write', 'read 1', 'write', 'read 2', 'done'])
  await close()
})
