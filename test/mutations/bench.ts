import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  anthropic,
  createCompatRouter,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  openaiCompatible,
  type RouterEvent,
} from 'compat-router'
import type { ProviderAdapter } from 'compat-router/adapters'
import { aiSdk } from 'compat-router/ai-sdk'
import { Pool } from 'undici'
import { listenHttp, type MountedHost } from '../helpers/listen-http.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'
import type { Json } from '../recordings/recording.js'
import { PRICES } from './counts.js'
import { PROMPT_TEXT } from './hearing.js'
import type { Mutant, Recording } from './mutate.js'
import type { Plant } from './plants.js'

export const MODEL = 'acme/fast'
export const API_KEY = 'sk-mutations'
const CONNECTIONS = 32
/** The clock of the router stands still, so nothing else ends a call that hangs. */
const STUCK_MS = 30_000

export type RequestEnd = Extract<RouterEvent, { type: 'request-end' }>

/** What a client received, and what the router reported of the call. */
export interface Observed {
  readonly status: number
  readonly bytes: string
  /** Whether the reply ended as HTTP says. */
  readonly isWhole: boolean
  readonly end: RequestEnd
}

/** A router between a client and a provider that replies with mutants. */
export class Bench {
  private readonly clock = createSteppedClock()
  private readonly ledger = memoryLedger({ payer: '9000000000' }, { clock: this.clock })
  private readonly mutants = new Map<string, Mutant>()
  private readonly asked = new Set<string>()
  private readonly ends = new Map<string, RequestEnd>()
  private readonly waiting = new Map<string, (end: RequestEnd) => void>()
  private adapters!: Record<Recording['language'], ProviderAdapter>
  private router!: ReturnType<typeof createCompatRouter>
  private front!: MountedHost
  private back!: MountedHost
  private pool!: Pool
  private charged = 0n
  private requests = 0
  readonly faults: RouterEvent[] = []

  private constructor(private readonly plant: Plant | undefined) {}

  static async start(plant?: Plant): Promise<Bench> {
    const bench = new Bench(plant)
    bench.back = await listenHttp(
      createServer((req, res) => void bench.provide(req, res)),
      '/v1',
    )
    bench.connect(bench.back.baseUrl)
    bench.front = await listenHttp(createServer(bench.router), '/api')
    bench.pool = new Pool(`http://127.0.0.1:${bench.front.port}`, { connections: CONNECTIONS })
    return bench
  }

  /** The base URL for client libraries. A request is answered with the mutant that its id stands for. */
  get baseUrl(): string {
    return this.front.baseUrl
  }

  /** Returns an id for one request, whose reply is this mutant. */
  open(mutant: Mutant): string {
    const id = `m-${this.requests++}`
    this.mutants.set(id, mutant)
    return id
  }

  /** Asks for a mutant as a plain client does. */
  async ask(mutant: Mutant, stream: boolean): Promise<Observed> {
    const id = this.open(mutant)
    const { body, statusCode } = await this.pool.request({
      method: 'POST',
      path: '/api/chat/completions',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', 'x-request-id': id },
      body: JSON.stringify({
        model: MODEL,
        messages: [{ role: 'user', content: PROMPT_TEXT }],
        max_tokens: 100_000,
        ...(stream && { stream: true }),
      }),
    })
    let isWhole = true
    let bytes = ''
    try {
      bytes = await body.text()
    } catch {
      isWhole = false
    }
    return { status: statusCode, bytes, isWhole, end: await this.close(id) }
  }

  /** Waits until the router has ended a request, and forgets its mutant. */
  async close(id: string): Promise<RequestEnd> {
    const end = this.ends.get(id) ?? (await this.ended(id))
    this.ends.delete(id)
    this.asked.delete(id)
    this.mutants.delete(id)
    return end
  }

  /** Forgets a mutant whose request a client library may not even have sent. */
  async forget(id: string): Promise<void> {
    if (this.asked.delete(id)) await this.close(id)
    else this.mutants.delete(id)
  }

  /** Ends everything. Returns the difference between the ledger and the sum of all reported charges, and the amount on hold. */
  async stop(): Promise<{ readonly difference: bigint; readonly held: bigint }> {
    const context = { requestId: 'assertion', signal: new AbortController().signal }
    const balance = await this.ledger.balance('payer', context)
    const closed = this.router.close({ graceMs: 1 })
    await this.clock.elapse(1)
    await closed
    await this.pool.close()
    for (const adapter of Object.values(this.adapters)) await adapter.close?.()
    await this.front.close()
    await this.back.close()
    const posted = balance?.posted ?? 0n
    return { difference: OPENING - this.charged - posted, held: balance?.held ?? 0n }
  }

  private ended(id: string): Promise<RequestEnd> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`The call ${id} did not end.`)), STUCK_MS)
      this.waiting.set(id, (end) => {
        clearTimeout(timer)
        resolve(end)
      })
    })
  }

  private connect(baseUrl: string): void {
    const model = (version: 'v2' | 'v3') => (name: string) => this.modelOf(name, version) as never
    const own: Record<Recording['language'], ProviderAdapter> = {
      openai: openaiCompatible({ baseUrl }),
      gemini: openaiCompatible({ baseUrl, unlistedTokens: 'output' }),
      anthropic: anthropic({ baseUrl, apiKey: 'sk-x' }),
      'aisdk-v2': aiSdk({ model: model('v2') }),
      'aisdk-v3': aiSdk({ model: model('v3') }),
    }
    const planted = (adapter: ProviderAdapter): ProviderAdapter => this.plant?.adapter?.(adapter) ?? adapter
    this.adapters = {
      openai: planted(own.openai),
      gemini: planted(own.gemini),
      anthropic: planted(own.anthropic),
      'aisdk-v2': planted(own['aisdk-v2']),
      'aisdk-v3': planted(own['aisdk-v3']),
    }
    this.router = createCompatRouter({
      credentials: memoryCredentials(
        { [API_KEY]: { kind: 'api-key', account: 'payer' } },
        { clock: this.clock },
      ),
      catalogue: memoryCatalogue([{ id: MODEL, prices: PRICES }]),
      ledger: this.ledger,
      providers: {
        // A route of its own for each call: otherwise those that fail would close it for the others.
        routes: (_model, { requestId }) => [
          {
            id: requestId,
            provider: 'p',
            adapter: this.adapters[this.mutants.get(requestId)!.language],
            upstreamModel: requestId,
          },
        ],
      },
      basePath: '/api',
      clock: this.clock,
      onEvent: (event) => this.heard(event),
    })
  }

  private heard(event: RouterEvent): void {
    if (event.type.endsWith('fault') || event.type === 'charge-failed') this.faults.push(event)
    if (event.type === 'request-start') this.asked.add(event.requestId)
    if (event.type !== 'request-end') return
    this.charged += event.charge?.cost ?? 0n
    const resolve = this.waiting.get(event.requestId)
    this.waiting.delete(event.requestId)
    if (resolve === undefined) this.ends.set(event.requestId, event)
    else resolve(event)
  }

  /** A provider over HTTP: the name of the model says which mutant it replies with. */
  private async provide(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const { model } = JSON.parse(Buffer.concat(chunks).toString()) as { model: string }
    const { bytes, ending, pieces } = this.mutants.get(model)!
    res.writeHead(200, { 'content-type': bytes[0] === 0x7b ? 'application/json' : 'text/event-stream' })
    res.flushHeaders()
    let from = 0
    for (const size of pieces) {
      if (size === 0) continue
      res.write(bytes.subarray(from, from + size))
      from += size
    }
    if (ending === 'end') res.end()
    else res.write('', () => res.socket?.destroySoon())
  }

  private modelOf(name: string, version: 'v2' | 'v3'): object {
    const { ending, parts = [], result } = this.mutants.get(name)!
    const fails = ending === 'hang-up'
    const broken = (): Error => new Error('The connection broke.')
    return {
      specificationVersion: version,
      provider: 'acme.chat',
      modelId: name,
      supportedUrls: {},
      doGenerate: async () => {
        if (fails) throw broken()
        return structuredClone(result)
      },
      doStream: async () => {
        const rest = [...parts]
        return {
          stream: new ReadableStream<Json>({
            pull(controller) {
              if (rest.length > 0) controller.enqueue(structuredClone(rest.shift()!))
              else if (fails) controller.error(broken())
              else controller.close()
            },
          }),
        }
      },
    }
  }
}

const OPENING = 9_000_000_000n * 10n ** 9n
