import type { ProviderAdapter, ProviderEvent } from '../../src/contracts/providers.js'
import type { IncomingCall, ReplyWriter } from '../../src/contracts/reply.js'
import { createEngine } from '../../src/engine/engine.js'
import { memoryCatalogue, memoryCredentials, memoryLedger, memoryProviders } from '../../src/memory/index.js'
import { engineOptions, type RouterOptions } from '../../src/options.js'
import { jsonBytes } from '../../src/protocol/wire-bytes.js'
import { createManualClock } from '../conformance/manual-clock.js'
import { headersOf } from '../helpers/headers-of.js'

const data = (chunk: object): ProviderEvent => ({ type: 'data', bytes: jsonBytes(chunk) })

/** An event of a choice with this delta. */
export const choiceEvent = (delta: object, finishReason: string | null = null): ProviderEvent =>
  data({ choices: [{ index: 0, delta, finish_reason: finishReason }] })
export const TOKEN = choiceEvent({ content: 'Hi' })
export const FINISH = choiceEvent({}, 'stop')
export const ERROR = data({ error: { message: 'It broke' } })

/** An engine with one model at one provider, on a stopped clock. */
export function openEngine(
  adapter: ProviderAdapter,
  {
    onDisconnect = 'drain',
    contextLength,
    ...options
  }: Partial<RouterOptions> & { onDisconnect?: 'abort' | 'drain'; contextLength?: number } = {},
) {
  const clock = createManualClock()
  return createEngine(
    engineOptions({
      credentials: memoryCredentials({ 'sk-demo': { kind: 'api-key', account: 'alice' } }, { clock }),
      catalogue: memoryCatalogue([
        { id: 'acme/fast', prices: { input: '1', output: '1' }, ...(contextLength && { contextLength }) },
      ]),
      ledger: memoryLedger({ alice: '5' }, { clock }),
      providers: memoryProviders([{ id: 'acme', models: { 'acme/fast': 'fast' }, adapter, onDisconnect }]),
      clock,
      ...options,
    }),
  )
}

const CALLER = { authorization: 'Bearer sk-demo' }

/** A streamed call of that model. */
export const streamedCall: IncomingCall = {
  requestId: 'one',
  ...headersOf(CALLER),
  authorizationLines: 1,
  allowOrigin: () => {},
  query: '',
  readBody: async () => ({
    value: { model: 'acme/fast', stream: true, messages: [{ role: 'user', content: 'Hello there' }] },
    bytes: 100,
  }),
}

/** The same call with more headers. */
export const streamedCallWith = (headers: Readonly<Record<string, string>>): IncomingCall => ({
  ...streamedCall,
  ...headersOf({ ...CALLER, ...headers }),
})

/** A client that takes everything and looks at nothing. */
export const ignoringClient: ReplyWriter = {
  left: false,
  onLeave: () => undefined,
  send: () => undefined,
  openStream: () => undefined,
  write: () => undefined,
  end: () => undefined,
  drop: () => undefined,
}
