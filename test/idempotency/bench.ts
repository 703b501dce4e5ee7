import { strict as assert } from 'node:assert'
import type { IdempotencyStore, RequestEnd } from '../../src/contracts/index.js'
import {
  type CompatRouter,
  createCompatRouter,
  type IdempotencyOptions,
  memoryCatalogue,
  memoryCredentials,
  memoryIdempotency,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
  type RouterEvent,
  type RouterOptions,
} from '../../src/index.js'
import type { MemoryCredential, MemoryLedger } from '../../src/stores.js'
import { auditedLedger, type LedgerAudit } from '../helpers/audited-ledger.js'
import { ChatClient } from '../helpers/chat-client.js'
import { FaultPlan, faultyLedger } from '../helpers/faulty-ledger.js'
import type { MountedHost } from '../helpers/listen-http.js'
import { type EventOf, RouterHarness } from '../helpers/router-harness.js'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { type SettingsOptions, settingsIn } from '../helpers/settings.js'
import { createSteppedClock, type SteppedClock } from '../helpers/stepped-clock.js'

export interface BenchOptions extends SettingsOptions {
  /** More than one represents processes that share one ledger. */
  readonly routers?: number
  /** One for all routers. By default each has its own in memory. */
  readonly store?: (clock: SteppedClock) => IdempotencyStore
  readonly idempotency?: Omit<IdempotencyOptions, 'store'>
  readonly onDisconnect?: 'abort' | 'drain'
  readonly router?: Partial<RouterOptions>
}

export interface Ask {
  readonly key?: string
  readonly stream?: boolean
  readonly router?: number
  readonly token?: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export interface Call {
  /** The name of the call in events and ledger. */
  readonly id: string
  readonly client: ChatClient
}

export const MODEL = 'acme/fast'
export const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
/** The price of {@link USAGE}. */
export const COST = 0.0012
const APP = { id: 'app-1', account: 'app', markup: { basisPoints: 0 }, allowedModels: [MODEL] }

const TOKENS: Readonly<Record<string, MemoryCredential>> = {
  alice: { kind: 'api-key', account: 'alice' },
  'alice-2': { kind: 'api-key', account: 'alice' },
  bob: { kind: 'api-key', account: 'bob', credentialId: 'shared' },
  carol: { kind: 'api-key', account: 'carol', credentialId: 'shared' },
  'app-token': {
    kind: 'access-token',
    account: 'alice',
    credentialId: 'grant-1',
    scopes: ['models.run'],
    app: APP,
  },
  'app-token-refreshed': {
    kind: 'access-token',
    account: 'alice',
    credentialId: 'grant-1',
    scopes: ['models.run'],
    app: APP,
  },
  'other-app-token': {
    kind: 'access-token',
    account: 'alice',
    credentialId: 'grant-1',
    scopes: ['models.run'],
    app: { ...APP, id: 'app-2' },
  },
}

/** Routers on real sockets, between one scripted provider and clients, with one observed ledger. */
export class Bench {
  readonly clock = createSteppedClock()
  readonly plan = new FaultPlan()
  readonly audit: LedgerAudit
  readonly ledger: MemoryLedger
  readonly credentials = memoryCredentials(TOKENS, { clock: this.clock })
  readonly routers: CompatRouter[] = []
  private readonly hosts: MountedHost[] = []
  private readonly adapter: ReturnType<typeof openaiCompatible>
  private readonly harness = new RouterHarness()
  private calls = 0

  private constructor(
    options: BenchOptions,
    readonly upstream: ScriptedUpstream,
  ) {
    const accounts = { alice: '10', bob: '10', carol: '10' }
    this.ledger = memoryLedger(accounts, { clock: this.clock })
    const { audit, ledger } = auditedLedger(this.ledger, this.clock, accounts)
    this.audit = audit
    this.adapter = openaiCompatible({ baseUrl: upstream.baseUrl, apiKey: 'sk-of-the-host' })
    const shared = options.store?.(this.clock)
    for (let index = 0; index < (options.routers ?? 1); index++) {
      this.routers.push(
        createCompatRouter({
          credentials: this.credentials,
          catalogue: memoryCatalogue([{ id: MODEL, prices: { input: '20', output: '200' } }]),
          ledger: faultyLedger(ledger, this.clock, this.plan.decide),
          providers: memoryProviders([
            {
              id: 'p0',
              models: { [MODEL]: 'upstream-model' },
              adapter: this.adapter,
              byok: 'yes',
              ...(options.onDisconnect && { onDisconnect: options.onDisconnect }),
            },
          ]),
          clock: this.clock,
          idempotency: {
            ...options.idempotency,
            store: shared ?? memoryIdempotency({ clock: this.clock }),
          },
          onEvent: this.harness.take,
          ...settingsIn(options),
          ...options.router,
        }),
      )
    }
  }

  static async start(options: BenchOptions = {}): Promise<Bench> {
    const bench = new Bench(options, await startScriptedUpstream())
    for (const router of bench.routers) bench.hosts.push(await bench.harness.serve(router))
    return bench
  }

  get events(): readonly RouterEvent[] {
    return this.harness.events
  }

  call(ask: Ask = {}): Call {
    const { id, body, headers, url } = this.request(ask)
    return { id, client: new ChatClient({ url, headers, body: JSON.parse(body) }) }
  }

  /** The headers of another kind of client. */
  request({ key, stream = false, router = 0, token = 'alice', body = {}, headers = {} }: Ask = {}) {
    const id = `call-${++this.calls}`
    return {
      id,
      url: `${this.hosts[router]!.baseUrl}/chat/completions`,
      headers: {
        authorization: `Bearer ${token}`,
        'x-request-id': id,
        ...(key !== undefined && { 'idempotency-key': key }),
        ...headers,
      },
      body: JSON.stringify({
        model: MODEL,
        messages: [{ role: 'user', content: 'hello' }],
        max_tokens: 100,
        ...(stream && { stream }),
        ...body,
      }),
    }
  }

  /** Sends a request and waits for the end of the reply and of the call. */
  async ask(ask: Ask = {}): Promise<ChatClient> {
    const call = this.call(ask)
    await call.client.over
    await this.end(call)
    return call.client
  }

  /** Disconnects the client and waits until the router has noticed. */
  async leave(call: Call): Promise<void> {
    await this.arrived(call)
    call.client.leave()
    await this.harness.lost(call.id)
  }

  /** Waits until the request has reached the router. */
  async arrived(call: Call): Promise<void> {
    await this.until(() => this.harness.hasArrived(call.id))
  }

  /** Waits until so many calls have reached a recording. Each is counted in by then. */
  async inFlight(count: number, router = 0): Promise<void> {
    while (this.routers[router]!.inFlight !== count) await new Promise((resolve) => setImmediate(resolve))
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  end(call: Call): Promise<RequestEnd> {
    return this.harness.event('request-end', call.id)
  }

  of<Type extends RouterEvent['type']>(type: Type): EventOf<Type>[] {
    return this.harness.of(type)
  }

  until(holds: () => boolean): Promise<void> {
    return this.harness.until(holds)
  }

  get charges(): number {
    return this.audit.settlements.size
  }

  get dispatched(): number {
    return this.upstream.requests.length
  }

  /** Closes everything, after checking for forbidden events. */
  async finish(): Promise<void> {
    try {
      for (const router of this.routers) {
        assert.equal(router.inFlight, 0, 'calls under way')
        await router.close({ graceMs: 0 })
      }
      assert.equal(this.audit.openHolds.size, 0, 'open holds')
      assert.deepEqual(this.audit.problems, [])
      assert.deepEqual(this.of('fault'), [])
      assert.equal(this.clock.pending, 0, 'timers left')
      await new Promise((resolve) => setImmediate(resolve))
    } finally {
      await this.upstream.close()
      await this.adapter.close?.()
      await this.harness.close()
    }
  }
}

export const JSON_REPLY: Script = answerJson({
  id: 'chatcmpl-upstream',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'upstream-model',
  choices: [{ index: 0, message: { role: 'assistant', content: 'ünï — 日本' }, finish_reason: 'stop' }],
  usage: USAGE,
})

export const USAGE_CHUNK = { ...textChunk(''), choices: [], usage: USAGE }

export const STREAM_REPLY: Script = answerEvents([
  textChunk('ünï '),
  textChunk('— 日本'),
  finishChunk(),
  USAGE_CHUNK,
])

/** A promise that a test fulfils. */
export function deferred(): { promise: Promise<void>; open: () => void } {
  let open = (): void => undefined
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, open }
}
