import { strict as assert } from 'node:assert'
import type { ProviderAdapter } from '../../src/adapters.js'
import {
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
  type RouterEvent,
  type RouterHandle,
  type RouterOptions,
} from '../../src/index.js'
import type { MemoryCredentials, MemoryLedger, MemoryModel } from '../../src/stores.js'
import { type AnyHost, defaultHost, mountOn } from '../helpers/any-host.js'
import { type Host, hosts } from '../helpers/hosts.js'
import type { HostResponse, MountedHost } from '../helpers/listen-http.js'
import { type EventOf, RouterHarness } from '../helpers/router-harness.js'
import { type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'
import { type SettingsOptions, settingsIn } from '../helpers/settings.js'
import { createSteppedClock, type SteppedClock } from '../helpers/stepped-clock.js'

export const MODEL = 'acme/fast'
export const UPSTREAM_MODEL = 'upstream-fast-0125'
export const UPSTREAM_KEY = 'sk-hosts-5f1c9d27b4e8'
/** Credits per million tokens. */
export const PRICES = { input: '2', cachedInput: '1', output: '8', request: '0.0001' }
/** A provider's usage and its cost: 7 x 2 + 4 x 1 + 7 x 8 millionths, and the price of the request. */
export const COUNTS = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 4 },
}
export const BASE_COST = '0.000174'
/** 33.33 % of the base and 0.0005, rounded up at the ninth place. */
export const MARKUP = { basisPoints: 3_333, flat: '0.0005' }
export const MARKUP_COST = '0.000557995'
export const MARKED_UP_COST = '0.000731995'

export const API_KEY = 'sk-wire-alice'
export const ACCESS_TOKEN = 'at-wire-bob'
export const tokens = {
  unscoped: 'at-wire-unscoped',
  expired: 'sk-wire-expired',
  revoked: 'sk-wire-revoked',
  suspended: 'sk-wire-suspended',
  poor: 'sk-wire-poor',
} as const

const APP = { id: 'app-1', account: 'app-owner', markup: MARKUP, allowedModels: [MODEL] }
const OPENING = { alice: '1', bob: '1', pauper: '0.0000001' }

const MODELS: readonly MemoryModel[] = [
  { id: MODEL, created: 1_700_000_000, name: 'Fast', contextLength: 8_000, prices: PRICES },
  { id: 'acme/very/slow:free', prices: { input: '0', output: '0' } },
  { id: 'acme/priceless' },
  { id: 'acme/nowhere', prices: PRICES },
]

export interface ServiceOptions extends SettingsOptions {
  /** Bare `http` by default, or what `MOUNT_VIA` names. */
  readonly host?: AnyHost
  /** How many providers serve the model. One by default. */
  readonly providers?: number
  /** Whether the providers are asked over TLS. */
  readonly tls?: boolean
  readonly onDisconnect?: 'abort' | 'drain'
  /** The adapter for each provider. `openaiCompatible` by default. */
  readonly adapter?: (baseUrl: string) => ProviderAdapter
  readonly models?: readonly MemoryModel[]
  /** Further router options, made from the default ones. */
  readonly router?: (options: RouterOptions) => Partial<RouterOptions>
  /** Faults that the test is about. */
  readonly expectsFaults?: boolean
}

/**
 * A router mounted in a host, between scripted providers and a client, with all stores in memory and a
 * stopped clock.
 */
export class WireService {
  readonly clock: SteppedClock
  readonly ledger: MemoryLedger
  readonly credentials: MemoryCredentials
  private readonly made: RouterOptions
  private readonly harness = new RouterHarness()
  private readonly adapters: readonly { close?(): unknown }[]
  private mounted: { readonly router: RouterHandle; readonly host: MountedHost } | undefined

  private constructor(
    readonly upstreams: readonly ScriptedUpstream[],
    private readonly options: ServiceOptions,
  ) {
    const clock = createSteppedClock()
    this.clock = clock
    this.ledger = memoryLedger(OPENING, { clock })
    this.credentials = memoryCredentials(
      {
        [API_KEY]: { kind: 'api-key', account: 'alice' },
        [ACCESS_TOKEN]: { kind: 'access-token', account: 'bob', scopes: ['models.run'], app: APP },
        [tokens.unscoped]: {
          kind: 'access-token',
          account: 'bob',
          scopes: ['models.run.extra', 'models'],
          app: APP,
        },
        [tokens.expired]: { kind: 'api-key', account: 'alice', expiresAt: clock.now() - 1 },
        [tokens.revoked]: { kind: 'api-key', account: 'alice', credentialId: 'revoked-key' },
        [tokens.suspended]: { kind: 'api-key', account: 'mallory' },
        [tokens.poor]: { kind: 'api-key', account: 'pauper' },
      },
      { clock },
    )
    this.credentials.revoke('revoked-key')
    this.credentials.suspend('mallory')
    const {
      adapter: connect = (baseUrl) => openaiCompatible({ baseUrl, apiKey: UPSTREAM_KEY }),
      models = MODELS,
      onDisconnect,
      router,
    } = options
    const adapters = upstreams.map(({ baseUrl }) => connect(baseUrl))
    this.adapters = adapters
    const made: RouterOptions = {
      credentials: this.credentials,
      catalogue: memoryCatalogue(models),
      ledger: this.ledger,
      providers: memoryProviders(
        adapters.map((adapter, index) => ({
          id: `p${index}`,
          models: Object.fromEntries(
            models.filter(({ id }) => id !== 'acme/nowhere').map(({ id }) => [id, UPSTREAM_MODEL]),
          ),
          adapter,
          byok: 'yes' as const,
          ...(onDisconnect && { onDisconnect }),
        })),
      ),
      clock,
      onEvent: this.harness.take,
      ...settingsIn(options),
    }
    this.made = { ...made, ...router?.(made) }
  }

  static async start(options: ServiceOptions = {}): Promise<WireService> {
    const upstreams = await Promise.all(
      Array.from({ length: options.providers ?? 1 }, () =>
        startScriptedUpstream({ tls: options.tls ?? false }),
      ),
    )
    const service = new WireService(upstreams, options)
    service.mounted = await mountOn(options.host ?? defaultHost, service.made)
    service.harness.keep(service.mounted.host)
    return service
  }

  get events(): RouterEvent[] {
    return this.harness.events
  }

  get upstream(): ScriptedUpstream {
    return this.upstreams[0]!
  }

  get host(): MountedHost {
    return this.mounted!.host
  }

  get router(): RouterHandle {
    return this.mounted!.router
  }

  /** All requests to the providers. */
  get asked() {
    return this.upstreams.flatMap(({ requests }) => requests)
  }

  /** Requests a completion, with Alice's key unless the headers say otherwise. */
  post(body: object | string, headers: Readonly<Record<string, string>> = {}): Promise<HostResponse> {
    return this.host.request('/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  }

  get(path: string, token = API_KEY): Promise<HostResponse> {
    return this.host.request(path, { headers: { authorization: `Bearer ${token}` } })
  }

  /** The first event of this type, past or future, optionally of one request. */
  event<Type extends RouterEvent['type']>(type: Type, requestId?: string): Promise<EventOf<Type>> {
    return this.harness.event(type, requestId)
  }

  /** The balance of an account as a decimal with every place. */
  async posted(account: string): Promise<bigint> {
    const balance = await this.ledger.balance(account, CONTEXT)
    return balance?.posted ?? 0n
  }

  async held(account: string): Promise<bigint> {
    const balance = await this.ledger.balance(account, CONTEXT)
    return balance?.held ?? 0n
  }

  /** Ends everything, after checking that no request left anything behind. */
  async close(): Promise<void> {
    try {
      const closed = this.router.close({ graceMs: 1 })
      await this.clock.elapse(1)
      await closed
      await new Promise((resolve) => setImmediate(resolve))
      assert.equal(this.router.inFlight, 0, 'calls in flight')
      for (const account of Object.keys(OPENING))
        assert.equal(await this.held(account), 0n, `held: ${account}`)
      if (this.options.expectsFaults !== true) {
        assert.deepEqual(
          this.events.filter(({ type }) => type.endsWith('fault')),
          [],
          'faults',
        )
      }
      const count = (type: string) => this.events.filter((event) => event.type === type).length
      assert.equal(count('request-end'), count('request-start'), 'each request has one end')
    } finally {
      for (const upstream of this.upstreams) await upstream.close()
      for (const adapter of this.adapters) await adapter.close?.()
      await this.harness.close()
    }
  }
}

const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }

export const bareHttp: Host = hosts.find(({ name }) => name === 'bare http with a base path')!

/** A minimal request. */
export function ask(more: Readonly<Record<string, unknown>> = {}): object {
  return { model: MODEL, messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 50, ...more }
}

/** A complete reply of a provider. */
export function providerReply(more: Readonly<Record<string, unknown>> = {}): object {
  return {
    id: 'chatcmpl-of-the-provider',
    object: 'chat.completion',
    created: 1,
    model: UPSTREAM_MODEL,
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Hello, wörld \u{1f600}!' }, finish_reason: 'stop' },
    ],
    usage: COUNTS,
    ...more,
  }
}

/** A chunk that has a usage and no choice. */
export function usageChunk(usage: object = COUNTS): object {
  return { id: 'chatcmpl-of-the-provider', object: 'chat.completion.chunk', choices: [], usage }
}

/** The JSON of each `data:` line of a stream, without `[DONE]`. */
export function framesOf(stream: string): Record<string, unknown>[] {
  return stream
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: ') && frame !== 'data: [DONE]')
    .map((frame) => JSON.parse(frame.slice('data: '.length)))
}
