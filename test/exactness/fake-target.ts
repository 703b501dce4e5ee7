import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listenHttp, type MountedHost } from '../helpers/listen-http.js'
import type { Gateway, Policy, Target, Upstream } from './target.js'
import { NOTHING, PRICES, priceOf, type Usage } from './usage.js'

/** A mistake that a gateway can make, each for one column of the table. */
export type Plant =
  | 'rounds-up'
  | 'charges-twice'
  | 'forgets-streams'
  | 'checks-then-charges'
  | 'refuses-early'
  | 'revokes-late'
  | 'forgets-when-killed'

interface Payer {
  readonly limit: bigint
  /** The amount spent and reserved. */
  used: bigint
  isRevoked: boolean
}

const UNLIMITED = 1n << 62n
const EACH = priceOf({ prompt: 100, cached: 0, completion: 100 }, PRICES)

const POLICY: Policy = {
  sources: ['charges the usage that the provider reports, and nothing otherwise'],
  owes: ({ reported }) => ({ usage: reported ?? NOTHING }),
  price: (usage) => priceOf(usage, PRICES),
  revokedWithinMs: 0,
  storedWithinMs: 0,
}

/** A small gateway of this process. It is exact, except for the mistake. */
export function fakeTarget(plant?: Plant, policy: Partial<Policy> = {}): Target {
  return {
    name: 'fake',
    version: 'fake 1.0.0',
    settings: [],
    policy: { ...POLICY, ...policy },
    start: (upstream) => FakeGateway.start(upstream, plant),
  }
}

class FakeGateway implements Gateway {
  readonly model = 'gpt-4o'
  readonly headers = {}
  readonly key = 'key-0'
  readonly idempotencyHeader = 'idempotency-key'
  private readonly payers = new Map<string, Payer>()
  private readonly replies = new Map<string, Promise<string>>()
  private readonly running = new Set<Promise<unknown>>()
  private made: bigint[] = []
  private host: MountedHost | undefined
  private killed = new AbortController()

  private constructor(
    private readonly upstream: Upstream,
    private readonly plant: Plant | undefined,
  ) {
    this.payers.set(this.key, { limit: UNLIMITED, used: 0n, isRevoked: false })
  }

  static async start(upstream: Upstream, plant: Plant | undefined): Promise<FakeGateway> {
    const gateway = new FakeGateway(upstream, plant)
    await gateway.listen()
    return gateway
  }

  get url(): string {
    return `${this.host!.baseUrl}/chat/completions`
  }

  readonly charges = async (): Promise<readonly bigint[]> => {
    await Promise.allSettled(this.running)
    return this.made
  }

  readonly openKey = async (): Promise<string> => this.open(UNLIMITED)
  readonly openCredit = async (amount: bigint): Promise<string> => this.open(amount)
  readonly openCap = async (amount: bigint): Promise<string> => this.open(amount)

  readonly revoke = async (key: string): Promise<void> => {
    const payer = this.payers.get(key)!
    if (this.plant === 'revokes-late') setTimeout(() => Object.assign(payer, { isRevoked: true }), 200)
    else payer.isRevoked = true
  }

  readonly killAndRestart = async (): Promise<void> => {
    this.killed.abort()
    await this.host!.close()
    await Promise.allSettled(this.running)
    this.killed = new AbortController()
    if (this.plant === 'forgets-when-killed') this.made = this.made.slice(0, -1)
    await this.listen()
  }

  async stop(): Promise<void> {
    await this.host!.close()
  }

  private async listen(): Promise<void> {
    this.host = await listenHttp(
      createServer((req, res) => {
        const answered = this.answer(req, res).catch(() => res.destroy())
        this.running.add(answered)
        void answered.then(() => this.running.delete(answered))
      }),
      '',
    )
  }

  private open(limit: bigint): string {
    const key = `key-${this.payers.size}`
    const isEarly = this.plant === 'refuses-early' && limit !== UNLIMITED
    this.payers.set(key, { limit: isEarly ? limit - EACH : limit, used: 0n, isRevoked: false })
    return key
  }

  private async answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await text(req)
    const payer = this.payers.get(req.headers.authorization?.slice('Bearer '.length) ?? '')
    if (payer === undefined || payer.isRevoked) return refuse(res, 401)
    if (payer.used + EACH > payer.limit) return refuse(res, 402)
    const reserves = this.plant !== 'checks-then-charges'
    if (reserves) payer.used += EACH
    const { 'idempotency-key': name } = req.headers
    const before = typeof name === 'string' ? this.replies.get(name) : undefined
    const reply = before ?? this.ask(body, res)
    if (typeof name === 'string') this.replies.set(name, reply)
    const whole = await reply
    if (before !== undefined) res.writeHead(200).end(whole)
    if (!reserves) payer.used += EACH
  }

  /** Passes the reply on as it comes, and charges it once it is whole. Reads on if the client leaves. */
  private async ask(body: string, res: ServerResponse): Promise<string> {
    const response = await fetch(`${this.upstream.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: this.killed.signal,
    })
    let whole = ''
    const decoder = new TextDecoder()
    for await (const bytes of response.body!) {
      const piece = decoder.decode(bytes, { stream: true })
      whole += piece
      res.write(piece)
    }
    this.charge(whole)
    res.end()
    return whole
  }

  private charge(whole: string): void {
    const usage = lastUsage(whole)
    if (usage === undefined) return
    if (this.plant === 'forgets-streams' && whole.startsWith('data:')) return
    const price = priceOf(usage, PRICES)
    this.made.push(this.plant === 'rounds-up' ? price + 1n : price)
    if (this.plant === 'charges-twice') this.made.push(price)
  }
}

function refuse(res: ServerResponse, status: number): void {
  res.writeHead(status).end('{"error":{"message":"refused"}}')
}

function lastUsage(whole: string): Usage | undefined {
  const pattern = /"prompt_tokens":(\d+),"completion_tokens":(\d+).*?"cached_tokens":(\d+)/g
  const [, prompt, completion, cached] = [...whole.matchAll(pattern)].at(-1) ?? []
  if (prompt === undefined) return undefined
  return { prompt: Number(prompt), cached: Number(cached), completion: Number(completion) }
}
