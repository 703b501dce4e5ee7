import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAdmin } from '../../src/admin/index.js'
import {
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
  parseCredits,
  type RouterStores,
} from '../../src/index.js'
import type { DurableStores } from '../../src/sqlite/index.js'
import { createDeferred } from '../helpers/deferred.js'
import { engineNames, useEngine } from '../helpers/engines.js'

/** How many calls are looked up at once. `LOOKED_UP_CALLS=10000` is the long form. */
const CALLS = Number(process.env.LOOKED_UP_CALLS ?? 200)
/** How many calls run at the same time. */
const LANES = 20
const MODEL = 'acme/fast'
const PRICES = { input: '2', cachedInput: '1', output: '8', request: '0.0001' }
const UPSTREAM_KEY = 'sk-look-ups-upstream'

// biome-ignore lint/suspicious/noExplicitAny: the body of a reply
type Json = any

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A provider whose replies differ in their tokens, every third of them a stream. */
async function startProvider(): Promise<string> {
  return `${await listen(
    createServer((req, res) => {
      let text = ''
      req.on('data', (bytes) => {
        text += bytes
      })
      req.on('end', () => {
        const { messages, stream } = JSON.parse(text)
        const number = Number(messages[0].content)
        const usage = { prompt_tokens: 10 + (number % 7), completion_tokens: 1 + (number % 11) }
        const made = { id: `up-${number}`, object: 'chat.completion', created: 1, model: 'm' }
        if (stream !== true) {
          const message = { role: 'assistant', content: 'Hi' }
          res.setHeader('content-type', 'application/json')
          res.end(JSON.stringify({ ...made, choices: [{ index: 0, message, finish_reason: 'stop' }], usage }))
          return
        }
        res.setHeader('content-type', 'text/event-stream')
        const delta = { role: 'assistant', content: 'Hi' }
        const chunk = { ...made, object: 'chat.completion.chunk' }
        res.write(
          `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta, finish_reason: 'stop' }] })}\n\n`,
        )
        res.end(`data: ${JSON.stringify({ ...chunk, choices: [], usage })}\n\ndata: [DONE]\n\n`)
      })
    }),
  )}/v1`
}

/** A router over these stores, as one of a host's processes. Returns its address. */
async function startProcess(
  baseUrl: string,
  { ledger }: Pick<RouterStores, 'ledger'>,
  calls?: RouterStores['calls'],
): Promise<string> {
  const adapter = openaiCompatible({ baseUrl, apiKey: UPSTREAM_KEY })
  const router = createCompatRouter({
    stores: {
      credentials: memoryCredentials({
        'sk-alice': { kind: 'api-key', account: 'alice', credentialId: 'alice-key' },
        'sk-other': { kind: 'api-key', account: 'alice', credentialId: 'other-key' },
        'sk-bob': { kind: 'api-key', account: 'bob', credentialId: 'bob-key' },
      }),
      catalogue: memoryCatalogue([{ id: MODEL, prices: PRICES }]),
      providers: memoryProviders([{ id: 'p', models: { [MODEL]: 'm' }, adapter }]),
      ledger,
      ...(calls && { calls }),
    },
    onEvent: false,
  })
  onTestFinished(async () => {
    await router.close({ graceMs: 1_000 })
    await adapter.close?.()
  })
  return listen(createServer((req, res) => router(req, res)))
}

async function post(
  address: string,
  number: number,
  token = 'sk-alice',
): Promise<{ id: string; usage: Json }> {
  const isStream = number % 3 === 0
  const response = await fetch(`${address}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: MODEL,
      messages: [{ role: 'user', content: String(number) }],
      max_tokens: 50,
      stream: isStream,
      ...(isStream && { stream_options: { include_usage: true } }),
    }),
  })
  expect(response.status).toBe(200)
  if (!isStream) return (await response.json()) as { id: string; usage: Json }
  const frames = (await response.text()).split('\n\n').filter((frame) => frame.startsWith('data: {'))
  const read = frames.map((frame) => JSON.parse(frame.slice('data: '.length)))
  return { id: read[0].id, usage: read.find(({ usage }) => usage != null).usage }
}

async function look(
  address: string,
  path: string,
  token = 'sk-alice',
): Promise<{ status: number; data: Json }> {
  const response = await fetch(`${address}${path}`, { headers: { authorization: `Bearer ${token}` } })
  const { data } = (await response.json()) as { data: Json }
  return { status: response.status, data }
}

/** Makes calls in one process, looks each up at once in all of them, and compares the figures with those of the reply. */
async function lookUpEach(asking: string, looking: readonly string[]): Promise<bigint> {
  const wrong: unknown[] = []
  let sum = 0n
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < CALLS) {
      const number = next++
      const { id, usage } = await post(asking, number)
      for (const address of looking) {
        const { data, status } = await look(address, `/generation?id=${id}`)
        const seen = [status, data?.pending, data?.total_cost, data?.tokens_prompt, data?.tokens_completion]
        const due = [200, false, usage.cost, usage.prompt_tokens, usage.completion_tokens]
        if (JSON.stringify(seen) !== JSON.stringify(due)) wrong.push({ id, seen, due })
        if (address === asking && data !== undefined) sum += parseCredits(data.cost)
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  expect(wrong).toEqual([])
  return sum
}

async function expectCredits(address: string, spent: bigint): Promise<void> {
  const { data } = await look(address, '/credits')
  expect(data).toMatchObject({ granted: '1000', held: '0' })
  expect(parseCredits(data.spent)).toBe(spent)
  expect(parseCredits(data.available)).toBe(parseCredits('1000') - spent)
}

describe('the concurrent look-up of many calls', { timeout: 60_000 + CALLS * 30 }, () => {
  it('finds them in memory', async () => {
    const asking = await startProcess(await startProvider(), { ledger: memoryLedger({ alice: '1000' }) })
    await expectCredits(asking, await lookUpEach(asking, [asking]))
  })

  describe.each(engineNames)('on %s', (name) => {
    const engine = useEngine(name)

    it('finds them in the answering process and in another one', async () => {
      const stores = [engine.open('look_ups'), engine.open('look_ups')] as const
      await createAdmin(stores[0]).accounts.credit({ account: 'alice', amount: '1000' })
      const provider = await startProvider()
      const asking = await startProcess(provider, stores[0])
      const other = await startProcess(provider, stores[1])
      const spent = await lookUpEach(asking, [asking, other])
      await expectCredits(asking, spent)
      await expectCredits(other, spent)
    })

    it('finds no call under an id that a database cannot look up', async () => {
      const stores = engine.open('odd_ids')
      const asking = await startProcess(await startProvider(), stores, stores.calls)
      for (const id of [
        '%00',
        'chatcmpl-%00',
        'chatcmpl-1%00',
        'resp_%0a',
        'msg_%7f',
        'chatcmpl-%ED%A0%80',
      ]) {
        expect([id, (await look(asking, `/generation?id=${id}`)).status]).toEqual([id, 404])
      }
    })

    it('shows them as pending while they run, in another process too, and includes refunds', async () => {
      const stores = [engine.open('running'), engine.open('running')] as const
      const admin = createAdmin(stores[0])
      await admin.accounts.credit({ account: 'alice', amount: '1000' })
      await admin.accounts.credit({ account: 'bob', amount: '1' })
      const provider = await startProvider()
      const isHeld = createDeferred<string>()
      const mayAnswer = createDeferred()
      const { ledger } = stores[0]
      const slow = Object.assign(Object.create(ledger) as typeof ledger, {
        settle: async (...request: Parameters<DurableStores['ledger']['settle']>) => {
          isHeld.resolve(request[0].facts.completionId!)
          await mayAnswer.promise
          return ledger.settle(...request)
        },
      })
      const asking = await startProcess(provider, { ledger: slow })
      const other = await startProcess(provider, stores[1])
      const running = post(asking, 1)
      const id = await isHeld.promise
      for (const address of [asking, other]) {
        const { data, status } = await look(address, `/generation?id=${id}`)
        expect([status, data.pending, data.model]).toEqual([200, true, MODEL])
      }
      expect((await look(other, '/credits')).data.held).not.toBe('0')
      mayAnswer.resolve()
      const { usage } = await running
      const { data } = await look(other, `/generation?id=${id}`)
      expect(data).toMatchObject({ pending: false, total_cost: usage.cost, refunded: '0' })
      expect((await look(other, `/generation?id=${id}`, 'sk-bob')).status).toBe(404)
      expect((await look(other, `/generation?id=${id}`, 'sk-other')).status).toBe(200)

      const { entries } = await ledger.entries(
        { account: 'alice', limit: 1 },
        { requestId: 'r', signal: new AbortController().signal },
      )
      await admin.entries.refund(entries[0]!.id, '0.0001')
      expect((await look(asking, `/generation?id=${id}`)).data).toMatchObject({
        cost: data.cost,
        refunded: '0.0001',
      })
      const left = parseCredits(data.cost) - parseCredits('0.0001')
      await expectCredits(asking, left)
      const { spent } = (await look(other, '/key')).data
      for (const period of ['total', 'today', 'week', 'month']) expect(parseCredits(spent[period])).toBe(left)
      expect((await look(other, '/key', 'sk-other')).data.spent.total).toBe('0')
      expect((await look(other, '/key', 'sk-bob')).data.spent.total).toBe('0')
    })
  })
})
