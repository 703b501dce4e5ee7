import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import OpenAI, { APIError } from 'openai'
import { creditsToNumber, formatCredits, parseCredits } from '../../../src/base/money.js'
import type { CallContext, Charge, LedgerReader, LedgerStore } from '../../../src/contracts/index.js'
import { memoryIdempotency, memoryLedger } from '../../../src/index.js'
import { programFile } from '../../helpers/program.js'
import { type Cut, startCuttingProxy } from './cutting-proxy.js'
import { type CountingProvider, startProvider, wordsOf } from './provider.js'
import { seeded } from './random.js'
import { ACCOUNT, MODEL, type Service, startService, TOKEN } from './service.js'

/** The location of the services and their ledger. */
export interface Setting {
  readonly name: string
  readonly processes: number
  /**
   * A database for separate processes, in which {@link ACCOUNT} already has {@link OPENING}. If absent,
   * everything is in this process.
   */
  readonly database?: { readonly url: string; readonly ledger: LedgerStore & LedgerReader }
}

export interface ProofOptions {
  readonly calls: number
  readonly seed: number
  readonly concurrency?: number
}

export interface ProofResult {
  readonly setting: string
  readonly calls: number
  readonly seconds: number
  /** HTTP requests that reached the proxy, and the proxy's actions on them. */
  readonly cuts: Readonly<Record<Cut, number>>
  /** Calls whose client read the whole reply, and the number of these replies marked as replayed. */
  readonly answered: number
  readonly replayed: number
  /** Calls whose client only got the charge, because another process has the reply. */
  readonly toldCharge: number
  readonly chargedOnce: number
  readonly dispatchedOnce: number
  readonly costs: string
  /** One sentence for each violation. */
  readonly problems: readonly string[]
}

interface Answer {
  readonly text: string | undefined
  readonly cost: number | undefined
  readonly replayed: boolean
}

/** The part of a reply's usage that client libraries do not know. */
interface Cost {
  readonly cost?: number
}

export const OPENING = '1000000'
const CONTEXT: CallContext = { requestId: 'proof', signal: new AbortController().signal }
const MAX_TRIES = 100
const MAX_PROBLEMS = 20
const PAGE = 1_000
/** All calls belong to one account, which may hold a tenth of the total. */
const STORE_BYTES = 2 * 1_024 ** 3

/**
 * Makes calls with an OpenAI client and an `Idempotency-Key` each, half of them streamed, through a proxy
 * that loses replies. Retries each until it is answered completely. Then compares the records of clients,
 * ledger and provider.
 */
export async function prove(
  setting: Setting,
  { calls, seed, concurrency = 80 }: ProofOptions,
): Promise<ProofResult> {
  const startedAt = performance.now()
  const provider = await startProvider()
  const { ledger, ports, close } = await startServices(setting, provider)
  const proxy = await startCuttingProxy(ports, seeded(seed))
  const client = new OpenAI({ apiKey: TOKEN, baseURL: `http://127.0.0.1:${proxy.port}` })
  const problems: string[] = []
  const answers = new Map<number, Answer>()
  let next = 0
  async function work(): Promise<void> {
    for (let call = next++; call < calls; call = next++) {
      try {
        answers.set(call, await askUntilAnswered(client, seed, call))
      } catch (error) {
        problems.push(`call ${call} failed: ${String(error)}`)
      }
    }
  }
  try {
    await Promise.all(Array.from({ length: concurrency }, work))
    await proxy.close()
    problems.push(...(await close()))
    const charges = await chargesOf(ledger)
    const counted = compare(calls, answers, charges, provider, problems)
    const total = [...charges.values()].flat().reduce((sum, { cost }) => sum + cost, 0n)
    const balance = await ledger.balance(ACCOUNT, CONTEXT)
    if (balance?.held !== 0n) problems.push(`${balance?.held} are still on hold`)
    if (balance?.posted !== parseCredits(OPENING) - total) problems.push('the balance is not the charges')
    return {
      setting: setting.name,
      calls,
      seconds: Math.round((performance.now() - startedAt) / 100) / 10,
      cuts: proxy.cuts,
      ...counted,
      costs: formatCredits(total),
      problems: problems.slice(0, MAX_PROBLEMS),
    }
  } finally {
    await provider.close()
  }
}

async function askUntilAnswered(client: OpenAI, seed: number, call: number): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    try {
      return call % 2 === 0 ? await askJson(client, seed, call) : await askStream(client, seed, call)
    } catch (error) {
      const told = chargeToldBy(error)
      if (told !== undefined) return { text: undefined, cost: told, replayed: false }
      if (tries === MAX_TRIES || !isWorthAnotherTry(error)) throw error
    }
  }
}

/** A lost connection has no status. 409 means that the call is running in another process. */
function isWorthAnotherTry(error: unknown): boolean {
  if (error instanceof APIError && error.status !== undefined) return error.status === 409
  return !(error instanceof WrongReply)
}

class WrongReply extends Error {}

function chargeToldBy(error: unknown): number | undefined {
  if (!(error instanceof APIError) || error.code !== 'idempotency_completed') return undefined
  const { metadata } = error.error as { metadata?: { usage?: Cost } }
  return metadata?.usage?.cost
}

function requestOf(call: number) {
  return {
    model: MODEL,
    messages: [{ role: 'user' as const, content: `call ${call}` }],
    max_tokens: 200,
    user: `call-${call}`,
  }
}

function headersOf(seed: number, call: number) {
  return { headers: { 'Idempotency-Key': `proof-${seed}-${call}` } }
}

async function askJson(client: OpenAI, seed: number, call: number): Promise<Answer> {
  const { data, response } = await client.chat.completions
    .create(requestOf(call), headersOf(seed, call))
    .withResponse()
  return {
    text: data.choices[0]?.message.content ?? '',
    cost: (data.usage as Cost | undefined)?.cost,
    replayed: response.headers.get('idempotent-replayed') === 'true',
  }
}

async function askStream(client: OpenAI, seed: number, call: number): Promise<Answer> {
  const { data, response } = await client.chat.completions
    .create({ ...requestOf(call), stream: true }, headersOf(seed, call))
    .withResponse()
  let text = ''
  let cost: number | undefined
  for await (const chunk of data) {
    text += chunk.choices[0]?.delta.content ?? ''
    cost = (chunk.usage as Cost | undefined)?.cost ?? cost
  }
  if (cost === undefined) throw new WrongReply('a stream ended well without its cost')
  return { text, cost, replayed: response.headers.get('idempotent-replayed') === 'true' }
}

function compare(
  calls: number,
  answers: ReadonlyMap<number, Answer>,
  charges: ReadonlyMap<string, readonly Charge[]>,
  { asked }: CountingProvider,
  problems: string[],
) {
  const counted = { answered: 0, replayed: 0, toldCharge: 0, chargedOnce: 0, dispatchedOnce: 0 }
  for (let call = 0; call < calls; call++) {
    const answer = answers.get(call)
    const [charge, ...others] = charges.get(`call-${call}`) ?? []
    const isChargedOnce = charge !== undefined && others.length === 0
    const dispatches = asked.get(call) ?? 0
    if (isChargedOnce) counted.chargedOnce++
    else problems.push(`call ${call} was charged ${charge === undefined ? 0 : others.length + 1} times`)
    if (dispatches === 1) counted.dispatchedOnce++
    else problems.push(`call ${call} was dispatched ${dispatches} times`)
    if (answer === undefined) continue
    if (charge !== undefined && answer.cost !== creditsToNumber(charge.cost)) {
      problems.push(`call ${call} was told ${answer.cost} and charged ${formatCredits(charge.cost)}`)
    }
    if (answer.text === undefined) counted.toldCharge++
    else if (answer.text === wordsOf(call).join('')) counted.answered++
    else problems.push(`call ${call} read another text than the provider sent`)
    if (answer.replayed) counted.replayed++
  }
  return counted
}

/** All charges, by the `user` that each call names. */
async function chargesOf(ledger: LedgerReader): Promise<Map<string, Charge[]>> {
  const charges = new Map<string, Charge[]>()
  let after: string | undefined
  do {
    const page = await ledger.entries({ limit: PAGE, ...(after !== undefined && { after }) }, CONTEXT)
    for (const { charge, facts, kind } of page.entries) {
      if (kind !== 'charge' || charge === undefined) continue
      const call = facts?.user ?? ''
      charges.set(call, [...(charges.get(call) ?? []), charge])
    }
    after = page.next
  } while (after !== undefined)
  return charges
}

interface Services {
  readonly ledger: LedgerStore & LedgerReader
  readonly ports: readonly number[]
  close(): Promise<readonly string[]>
}

async function startServices(
  { database, processes }: Setting,
  { baseUrl: providerUrl }: CountingProvider,
): Promise<Services> {
  const each = Array.from({ length: processes })
  const ledger = database?.ledger ?? memoryLedger({ [ACCOUNT]: OPENING })
  const services = await Promise.all(
    each.map(() =>
      database === undefined
        ? startService({ ledger, store: memoryIdempotency({ maxBytes: STORE_BYTES }), providerUrl })
        : startProcess(database.url, providerUrl),
    ),
  )
  return {
    ledger,
    ports: services.map(({ port }) => port),
    close: async () => (await Promise.all(services.map((service) => service.close()))).flat(),
  }
}

async function startProcess(databaseUrl: string, providerUrl: string): Promise<Service> {
  const program = await programFile(new URL('service-process.ts', import.meta.url))
  const child = fork(program, [databaseUrl, providerUrl])
  const { port } = await told<{ port: number }>(child)
  return {
    port,
    async close() {
      const exited = once(child, 'exit')
      const faults = told<{ faults: readonly string[] }>(child)
      child.send('close')
      const said = await faults
      await exited
      return said.faults
    },
  }
}

function told<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null) => reject(new Error(`The service ended with ${code}`))
    child.once('exit', gone)
    child.once('message', (message) => {
      child.off('exit', gone)
      resolve(message as Message)
    })
  })
}
