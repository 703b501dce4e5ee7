import { strict as assert } from 'node:assert'
import type { ProviderAdapter } from '../../src/adapters.js'
import type { CompatRouter, Prices, RouterEvent, RouterOptions } from '../../src/index.js'
import type { MemoryLedger, MemoryModel } from '../../src/stores.js'
import { aroundChats } from '../helpers/around-chats.js'
import { auditedLedger, type LedgerAudit } from '../helpers/audited-ledger.js'
import { ChatClient } from '../helpers/chat-client.js'
import { FaultPlan, faultyLedger } from '../helpers/faulty-ledger.js'
import type { MountedHost } from '../helpers/listen-http.js'
import { type EventOf, RouterHarness } from '../helpers/router-harness.js'
import { type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'
import { type SettingsOptions, settingsIn } from '../helpers/settings.js'
import { createSteppedClock, type SteppedClock, turns } from '../helpers/stepped-clock.js'
import { APIS, type Api } from './apis.js'

/** The package: its source or its build. */
export type Library = typeof import('../../src/index.js')

export interface BenchRoute {
  readonly byok?: 'only'
  readonly onDisconnect?: 'abort' | 'drain'
  readonly prices?: Prices
  readonly baseUrl?: (scripted: string) => string
}

export interface BenchOptions extends SettingsOptions {
  /** One provider each, `p0` first. */
  readonly routes?: readonly BenchRoute[]
  /** Opening balances. */
  readonly accounts?: Readonly<Record<string, string>>
  readonly model?: Partial<MemoryModel>
  /** Further router options. */
  readonly router?: Partial<RouterOptions>
  /** Wraps stores of the bench. */
  readonly wrap?: (options: RouterOptions, clock: SteppedClock) => RouterOptions
}

export const MODEL = 'acme/fast'
export const PAYER = 'alice'
export const APP_TOKEN = 'token-of-an-app'
export const OWN_KEY = 'key-of-alice'
/** 41 bytes: 10 tokens for a charge. For a hold 14, and 22 with the 8 of the message. */
export const PROMPT = 'forty bytes of a prompt, counted by hand!'
export const PRICES: Prices = { input: '10', output: '20', request: '0.001' }
/** 20 % and a flat part. */
export const MARKUP = { basisPoints: 2_000, flat: '0.0005' }
const OPENING = { [PAYER]: '1' }

/** A call and its id in events and ledger. */
export interface BenchCall {
  readonly id: string
  readonly client: ChatClient
  readonly stream: boolean
}

/**
 * One router on a real socket, between scripted providers and a client, on an observed ledger with faults.
 */
export class Bench {
  readonly clock: SteppedClock
  readonly upstreams: readonly ScriptedUpstream[]
  readonly plan = new FaultPlan()
  /** The ledger itself, without faults or observation. */
  readonly ledger: MemoryLedger
  /** The same, observed. */
  readonly watched: MemoryLedger
  /** The same, as the router gets it. */
  readonly faulty: MemoryLedger
  readonly audit: LedgerAudit
  readonly accounts: Readonly<Record<string, string>>
  readonly router: CompatRouter
  /** The number of provider reads that the router received, and of the events in them. */
  reads = 0
  took = 0
  /** How many of them wait for a client that does not read. */
  blocked = 0
  private readonly harness = new RouterHarness()
  private readonly adapters: ProviderAdapter[]
  private host: MountedHost | undefined
  private calls = 0

  private constructor(
    readonly library: Library,
    options: BenchOptions,
    upstreams: readonly ScriptedUpstream[],
    readonly api: Api,
  ) {
    this.upstreams = upstreams
    this.clock = createSteppedClock()
    this.accounts = options.accounts ?? OPENING
    this.ledger = library.memoryLedger(this.accounts, { clock: this.clock })
    const { audit, ledger } = auditedLedger(this.ledger, this.clock, this.accounts)
    this.audit = audit
    this.watched = ledger
    this.faulty = faultyLedger(ledger, this.clock, this.plan.decide)
    const routes = options.routes ?? [{}]
    this.adapters = []
    const providers = routes.map(({ baseUrl, ...route }, index) => {
      const scripted = upstreams[index]!.baseUrl
      const adapter = this.counted(library.openaiCompatible({ baseUrl: baseUrl?.(scripted) ?? scripted }))
      this.adapters.push(adapter)
      return { id: `p${index}`, models: { [MODEL]: 'upstream-model' }, adapter, ...route }
    })
    const made: RouterOptions = {
      credentials: library.memoryCredentials(
        {
          [OWN_KEY]: { kind: 'api-key', account: PAYER },
          [APP_TOKEN]: {
            kind: 'access-token',
            account: PAYER,
            scopes: ['models.run'],
            app: { id: 'app-1', account: 'app', markup: MARKUP, allowedModels: [MODEL] },
          },
        },
        { clock: this.clock },
      ),
      catalogue: library.memoryCatalogue([{ id: MODEL, prices: PRICES, ...options.model }]),
      ledger: this.faulty,
      providers: library.memoryProviders(providers),
      clock: this.clock,
      onEvent: this.harness.take,
      ...settingsIn(options),
      ...options.router,
    }
    this.router = library.createCompatRouter(options.wrap?.(made, this.clock) ?? made)
  }

  static async start(library: Library, options: BenchOptions = {}, api = APIS[0]!): Promise<Bench> {
    const upstreams = await Promise.all((options.routes ?? [{}]).map(() => startScriptedUpstream()))
    const bench = new Bench(library, options, upstreams, api)
    bench.host = await bench.harness.serve(bench.router)
    return bench
  }

  get events(): readonly RouterEvent[] {
    return this.harness.events
  }

  get upstream(): ScriptedUpstream {
    return this.upstreams[0]!
  }

  /** Requests a completion, as the user of an app unless the headers say otherwise. */
  call(stream: boolean, body: object = {}, headers: Readonly<Record<string, string>> = {}): BenchCall {
    const request = {
      messages: [{ role: 'user', content: PROMPT }],
      max_tokens: 100,
      ...(stream && { stream }),
      ...body,
    }
    return this.post(this.api.path, this.api.request(request), headers, stream)
  }

  /** Starts a call for the embedding of {@link PROMPT}. */
  embed(headers: Readonly<Record<string, string>> = {}): BenchCall {
    return this.post('/embeddings', { input: PROMPT }, headers, false)
  }

  private post(
    path: string,
    body: object,
    headers: Readonly<Record<string, string>>,
    stream: boolean,
  ): BenchCall {
    const id = `call-${++this.calls}`
    const client = new ChatClient({
      url: `${this.host!.baseUrl}${path}`,
      headers: { authorization: `Bearer ${APP_TOKEN}`, 'x-request-id': id, ...headers },
      body: { model: MODEL, ...body },
    })
    return { id, client, stream }
  }

  get port(): number {
    return this.host!.port
  }

  /** Disconnects the client and waits until the router has noticed. */
  async leave(call: BenchCall): Promise<void> {
    await this.until(() => this.harness.hasArrived(call.id))
    call.client.leave()
    await this.harness.lost(call.id)
  }

  /** Moves the clock whenever a client does not read, until the router has dropped it. */
  async dropsClient(call: BenchCall, stallMs: number): Promise<void> {
    let dropped = false
    void this.harness.lost(call.id).then(() => {
      dropped = true
    })
    while (!dropped) await (this.blocked > 0 ? this.clock.elapse(stallMs) : turns(1))
  }

  /** Waits for an event of this type, optionally of one call. */
  event<Type extends RouterEvent['type']>(type: Type, call?: BenchCall): Promise<EventOf<Type>> {
    return this.harness.event(type, call?.id)
  }

  has(type: RouterEvent['type']): boolean {
    return this.events.some((event) => event.type === type)
  }

  /** Waits until the router has received so many events. */
  async takes(events: number): Promise<void> {
    await this.until(() => this.took >= events)
  }

  /** Waits until a condition on the events or on the router's reads holds. */
  until(holds: () => boolean): Promise<void> {
    return this.harness.until(holds)
  }

  /**
   * Closes everything, after checking that nothing was left behind: an open hold or call, a fault, a timer,
   * an unhandled rejection, a mistake in the ledger's books.
   */
  async finish(
    expected: { readonly problems?: number; readonly openHolds?: number; readonly faults?: number } = {},
  ): Promise<void> {
    try {
      const left = { calls: this.router.inFlight, holds: this.audit.openHolds.size }
      assert.deepEqual(left, { calls: 0, holds: expected.openHolds ?? 0 }, 'open at the end of the test')
      const starts = this.events.filter(({ type }) => type === 'request-start').length
      const ends = this.events.filter(({ type }) => type === 'request-end').length
      assert.equal(ends, starts, 'each request has one end')
      assert.deepEqual(await this.router.close({ graceMs: 0 }), await this.router.close())
      const faults = this.events.filter(({ type }) => type === 'fault')
      assert.equal(faults.length, expected.faults ?? 0, JSON.stringify(faults))
      assert.equal(this.audit.problems.length, expected.problems ?? 0, this.audit.problems.join('\n'))
      assert.equal(this.clock.pending, 0, 'timers left')
      await new Promise((resolve) => setImmediate(resolve))
    } finally {
      await this.close()
    }
  }

  /** Closes everything in any state. */
  async close(): Promise<void> {
    for (const upstream of this.upstreams) await upstream.close()
    for (const adapter of this.adapters) await adapter.close?.()
    await this.harness.close()
  }

  private counted(adapter: ProviderAdapter): ProviderAdapter {
    const counted = aroundChats(
      adapter,
      (ask) => (call, take) =>
        ask(call, (events) => {
          const waiting = take(events)
          this.reads++
          this.took += events.length
          this.harness.wake()
          if (waiting === undefined) return
          this.blocked++
          return waiting.finally(() => {
            this.blocked--
          })
        }),
    )
    return { ...counted, close: () => adapter.close?.() }
  }
}
