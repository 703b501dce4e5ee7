import { createServer } from 'node:http'
import { ChatClient } from '../../helpers/chat-client.js'
import { decimal } from '../../helpers/decimals.js'
import { listenHttp } from '../../helpers/listen-http.js'
import { type Bench, type BenchCall, MODEL, OWN_KEY, PAYER, PROMPT } from '../bench.js'
import { type Fault, inBothModes, NOTHING, send, takeOver } from '../fault.js'
import { HEAD, TOKENS } from '../upstream-scripts.js'

const CONTEXT = { requestId: 'test', signal: new AbortController().signal }
/** Longer than any hold lasts under the default limits. */
const PAST_EXPIRY_MS = 1_200_000

/**
 * The process ends in the middle of a call. Here that is a second router whose clock never moves, and whose
 * requests after the hold never reach the ledger. Then its connections are cut.
 */
export const killed: readonly Fault[] = inBothModes((stream) => ({
  row: 'killed',
  name: 'the process is killed in the middle',
  apis: ['chat'],
  async play(bench) {
    const { call, kill } = await callOnAnother(bench, stream)
    await kill()
    if (bench.audit.openHolds.size !== 1) throw new Error('the hold did not outlive the process')
    await bench.clock.elapse(PAST_EXPIRY_MS)
    const { hold } = await bench.event('hold-expired')
    if (hold.account !== PAYER) throw new Error(`a hold of ${hold.account} expired`)
    return call
  },
  async charged(bench) {
    const { posted } = (await bench.ledger.balance(PAYER, CONTEXT))!
    return decimal(1_000_000_000n - posted)
  },
  due: NOTHING,
  answer: 'left',
}))

async function callOnAnother(
  bench: Bench,
  stream: boolean,
): Promise<{ call: BenchCall; kill: () => Promise<void> }> {
  const { library } = bench
  const never = () => new Promise<never>(() => {})
  const adapter = library.openaiCompatible({ baseUrl: bench.upstream.baseUrl })
  const router = library.createCompatRouter({
    credentials: library.memoryCredentials({ [OWN_KEY]: { kind: 'api-key', account: PAYER } }),
    catalogue: library.memoryCatalogue([{ id: MODEL, prices: { input: '10', output: '20' } }]),
    ledger: { ...bench.watched, settle: never, release: never },
    providers: library.memoryProviders([{ id: 'p0', models: { [MODEL]: 'upstream-model' }, adapter }]),
    clock: { now: bench.clock.now, after: () => () => {} },
  })
  const host = await listenHttp(
    createServer((req, res) => router(req, res)),
    '',
  )
  const taken = takeOver(bench)
  const client = new ChatClient({
    url: `${host.baseUrl}/chat/completions`,
    headers: { authorization: `Bearer ${OWN_KEY}` },
    body: { model: MODEL, messages: [{ role: 'user', content: PROMPT }], ...(stream && { stream }) },
  })
  const reply = await taken
  await send(reply, HEAD, TOKENS)
  return {
    call: { id: 'killed', client, stream },
    async kill() {
      reply.reset()
      await host.close()
      await adapter.close?.()
    },
  }
}
