import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  anthropic,
  type CompatRouter,
  createCompatRouter,
  generateEnvelopeKey,
  keyring,
  memoryCatalogue,
  memoryCredentials,
  memoryLedger,
  memoryProviders,
  openaiCompatible,
  type RouterEvent,
  type RouterOptions,
} from 'compat-router'
import type { ProviderAdapter } from 'compat-router/adapters'
import { aiSdk } from 'compat-router/ai-sdk'
import { sealProviderKey } from 'compat-router/envelope'
import type { LedgerStore, MemoryProvider } from 'compat-router/stores'
import { andThen } from '../../src/engine/asking/within.js'
import { auditedLedger, type LedgerAudit } from '../helpers/audited-ledger.js'
import { nanos } from '../helpers/decimals.js'
import { createSteppedClock, turns } from '../helpers/stepped-clock.js'
import { LimitBook } from '../simulation/limit-book.js'
import { PATHS } from './apis.js'
import type { CallPlan } from './call-plan.js'
import { Caller } from './caller.js'
import type { Plant } from './plants.js'
import { type Arrival, makeArrival, type ProviderSide, serve } from './provider.js'
import {
  APP_USER,
  BALANCES,
  HOST_HEADER,
  HOST_KEY,
  type ModelPlan,
  type RoutePlan,
  type Scenario,
  UPSTREAM_MODEL,
} from './scenario.js'
import type { Servers } from './servers.js'

type RequestEnd = Extract<RouterEvent, { type: 'request-end' }>

/** A call that was made, and everything observed of it. */
export interface MadeCall {
  readonly plan: CallPlan
  readonly requestId: string
  readonly caller: Caller
  readonly arrivals: Arrival[]
  end: RequestEnd | undefined
}

/** An in-memory keyring for all worlds: sealing a key for an account takes longer than a call. */
const jwk = await generateEnvelopeKey('callers')
const envelopes = keyring([jwk])
const [publicKey] = envelopes.publicKeys().keys
const sealed = new Map<string, Promise<string>>()

function seal(account: string, provider: string, key: string): Promise<string> {
  const name = JSON.stringify([account, provider, key])
  let envelope = sealed.get(name)
  if (envelope === undefined) {
    envelope = sealProviderKey({ key, provider, account }, publicKey!)
    sealed.set(name, envelope)
  }
  return envelope
}

/** Times that a test can reach without making other calls time out. */
const TIMEOUTS = { clientStallMs: 1_000 }
const BALANCE = '1000000'
const API_KEY = { kind: 'api-key' } as const
const MARKUP = { basisPoints: 0, flat: '0' }
const STUCK_MS = 120_000
/** A pause of a busy machine must not look like one: time would pass while bytes are on the way. */
const QUIET_MS = 8
const QUIET_LOOKS = 10

/** A router between scripted providers and callers, over real sockets, on a clock that the world moves. */
export class World {
  readonly router: CompatRouter
  readonly events: RouterEvent[] = []
  readonly calls: MadeCall[] = []
  readonly clock = createSteppedClock()
  readonly audit
  /** For a plant to remember calls. */
  readonly planted = { hasLearnt: false, calls: 0 }
  private readonly adapters: ProviderAdapter[] = []
  private readonly mount
  private readonly byRequest = new Map<string, MadeCall>()
  private readonly fronts = new Map<string, Promise<unknown>>()
  private readonly sleepers = new Set<{ readonly until: number; wake(): void }>()
  private readonly serving = new Set<Promise<void>>()
  private readonly ended = new Set<() => void>()
  private activity = 0
  /** One sentence for each violation of a limit. */
  readonly limitProblems: string[] = []
  private readonly tokensHeld = new Map<string, bigint>()
  private readonly limits: LimitBook
  /** Looked up only after all calls have ended. */
  private holds: Map<string, LedgerAudit['holds'][number][]> | undefined

  constructor(
    readonly scenario: Scenario,
    private readonly servers: Servers,
    readonly plant: Plant | undefined,
  ) {
    this.limits = new LimitBook({
      limitsOf: (credentialId) => scenario.limits[credentialId] ?? [],
      seesBalance: (credentialId) => credentialId !== APP_USER,
      tokensOf: (requestId) => this.tokensHeld.get(requestId) ?? 0n,
      violate: (problem) => this.limitProblems.push(problem),
    })
    this.mount = servers.open(
      (req, res) => this.front(req, res),
      (req, res) => this.back(req, res),
    )
    const accounts = {
      ...Object.fromEntries(scenario.callers.map((account) => [account, BALANCE])),
      ...BALANCES,
    }
    const audited = auditedLedger(memoryLedger(accounts, { clock: this.clock }), this.clock, accounts)
    this.audit = audited.audit
    const options: RouterOptions = {
      credentials: memoryCredentials(
        Object.fromEntries(
          Object.keys(accounts).map((account) => [
            `sk-${account}-token`,
            {
              ...(account === APP_USER ? this.appToken() : API_KEY),
              account,
              credentialId: account,
              ...(scenario.limits[account] !== undefined && { limits: scenario.limits[account] }),
            },
          ]),
        ),
        { clock: this.clock },
      ),
      catalogue: memoryCatalogue(scenario.models.map(({ catalogue }) => catalogue)),
      ledger: audited.ledger,
      providers: memoryProviders(scenario.models.flatMap((model) => this.providersOf(model))),
      envelopes,
      neverOverdraw: scenario.neverOverdraw,
      basePath: `/${this.mount.name}`,
      timeouts: TIMEOUTS,
      traceContext: 'forward',
      clock: this.clock,
      onEvent: (event) => this.heard(event),
    }
    const planted = plant?.options?.(options, this) ?? options
    this.router = createCompatRouter({
      ...planted,
      ledger: this.counted(planted.ledger ?? audited.ledger),
    })
  }

  /** Makes calls, all at once, and waits until each has ended for its caller and for the router. */
  async make(plans: readonly CallPlan[]): Promise<void> {
    const made = await Promise.all(plans.map((plan) => this.call(plan)))
    await this.within(
      Promise.all(
        made.map(async (call) => {
          if (call.plan.leaving === 'never-reads') {
            await this.until(() => call.end !== undefined)
            call.caller.leave()
          }
          await call.caller.over
        }),
      ),
    )
    await this.within(this.settled())
  }

  /** Like {@link make}, for calls that wait for the clock: moves time whenever nothing else happens. */
  async makeSlowly(plans: readonly CallPlan[]): Promise<void> {
    let isDone = false
    const done = this.make(plans).finally(() => {
      isDone = true
    })
    void done.catch(() => {})
    while (!isDone) {
      await this.quiet(() => isDone)
      if (isDone) break
      await this.clock.elapse(this.nextStep())
      for (const sleeper of [...this.sleepers]) {
        if (sleeper.until > this.clock.now()) continue
        this.sleepers.delete(sleeper)
        sleeper.wake()
      }
    }
    await done
  }

  /** The reported state of the routes, without measurements. */
  health(): readonly { readonly routeId: string; readonly state: string; readonly failureRate: number }[] {
    return this.router.routes().map(({ failureRate, routeId, state }) => ({ routeId, state, failureRate }))
  }

  /** Ends everything. Calls that are still open are stopped. */
  async close(): Promise<void> {
    for (const { caller } of this.calls) caller.leave()
    for (const sleeper of this.sleepers) sleeper.wake()
    const closing = this.router.close({ graceMs: 1 })
    await this.clock.elapse(1)
    await this.within(closing)
    await Promise.all(this.adapters.map((adapter) => adapter.close?.()))
    this.mount.close()
  }

  holdsOf(requestId: string): readonly LedgerAudit['holds'][number][] {
    if (this.holds === undefined) {
      this.holds = new Map()
      for (const hold of this.audit.holds) {
        const id = hold.request.facts.requestId
        this.holds.set(id, [...(this.holds.get(id) ?? []), hold])
      }
    }
    return this.holds.get(requestId) ?? []
  }

  modelOf({ model }: CallPlan): ModelPlan {
    return this.scenario.models.find(({ id }) => id === model)!
  }

  private appToken() {
    const allowedModels = this.scenario.models.map(({ id }) => id)
    const app = { id: 'an-app', markup: MARKUP, allowedModels }
    return { kind: 'access-token' as const, scopes: ['models.run'], app }
  }

  /** Counts all limits again, between the router and its ledger. */
  private counted(ledger: LedgerStore): LedgerStore {
    const now = () => this.clock.now()
    return {
      ...ledger,
      hold: (request, context) => {
        return andThen(ledger.hold(request, context), (result) => {
          for (const { amount, unit } of request.limits ?? []) {
            if (unit === 'tokens') this.tokensHeld.set(request.facts.requestId, amount)
          }
          // A quarter of it pays any output.
          this.limits.hold(request, result, nanos(BALANCE), now())
          return result
        })
      },
      settle: (request, context) =>
        andThen(ledger.settle(request, context), (result) => {
          if (!result.repeated) this.limits.settle(request, true, now())
          return result
        }),
      release: (request, context) =>
        andThen(ledger.release(request, context), (result) => {
          this.limits.end(request.holdId)
          return result
        }),
    }
  }

  private async call(plan: CallPlan): Promise<MadeCall> {
    const index = this.calls.length
    const requestId = `${this.mount.name}-${index}`
    const call: MadeCall = { plan, requestId, caller: undefined as never, arrivals: [], end: undefined }
    this.calls.push(call)
    this.byRequest.set(requestId, call)
    const text = await this.textOf(plan)
    const caller = new Caller({
      port: this.servers.frontPort,
      path: `/${this.mount.name}${PATHS[plan.api]}`,
      headers: {
        authorization: `Bearer sk-${plan.account}-token`,
        'x-request-id': requestId,
        traceparent: traceparent(requestId),
        ...(plan.idempotencyKey !== undefined && { 'idempotency-key': plan.idempotencyKey }),
      },
      text,
      half: plan.leaving === 'half-sent',
      neverReads: plan.leaving === 'never-reads',
    })
    return Object.assign(call, { caller })
  }

  private async textOf({ account, ownKey, text }: CallPlan): Promise<string> {
    if (ownKey === undefined) return text
    const envelope = await seal(account, ownKey.provider, ownKey.key)
    const pin = `"provider":${JSON.stringify(ownKey.provider)},"provider_key":${JSON.stringify(envelope)}`
    return text === '{}' ? `{${pin}}` : `{${pin},${text.slice(1)}`
  }

  private providersOf(model: ModelPlan): readonly MemoryProvider[] {
    return model.routes.map((route) => {
      const adapter = this.adapterOf(model, route)
      this.adapters.push(adapter)
      return {
        id: route.provider,
        models: { [model.id]: UPSTREAM_MODEL },
        ...(model.actual.template.escapes !== undefined && { promptEscapes: model.actual.template.escapes }),
        adapter: this.plant?.adapter?.(adapter, this) ?? adapter,
        onDisconnect: route.onDisconnect,
        ...(route.credential === 'key' && { byok: 'yes' as const }),
      }
    })
  }

  private adapterOf({ language }: ModelPlan, { credential, provider }: RoutePlan): ProviderAdapter {
    const baseUrl = `http://127.0.0.1:${this.servers.backPort}/${this.mount.name}/${provider}/v1`
    const settings = {
      baseUrl,
      ...(credential === 'key' && { apiKey: HOST_KEY }),
      ...(credential === 'header' && { headers: { [HOST_HEADER]: HOST_KEY } }),
    }
    if (language === 'anthropic') return anthropic(settings)
    if (language === 'openai') return openaiCompatible(settings)
    return aiSdk({
      model: (name, key) =>
        createOpenAICompatible({
          name: 'sdk',
          baseURL: baseUrl,
          apiKey: key ?? HOST_KEY,
          includeUsage: true,
          supportsStructuredOutputs: true,
        })(name) as never,
    })
  }

  private front(req: IncomingMessage, res: ServerResponse): void {
    const requestId = String(req.headers['x-request-id'])
    this.activity++
    this.fronts.set(requestId, once(res, 'close'))
    res.on('close', () => this.activity++)
    this.router(req, res)
  }

  private back(req: IncomingMessage, res: ServerResponse): void {
    this.activity++
    const requestId = requestIdIn(req.headers.traceparent)
    const call = this.byRequest.get(requestId)
    if (call === undefined) throw new Error('A request reached a provider without the trace of its caller.')
    const { plan } = call
    const model = this.modelOf(plan)
    const provider = (req.url ?? '').split('/')[2]!
    const route = model.routes.find((one) => one.provider === provider)!
    const serving = serve(req, res, plan, model, route, this.sideFor(call), (sent) => {
      const text = this.plant?.arrives?.(sent, plan, this) ?? sent
      const arrival = makeArrival(model, provider, text, req)
      call.arrivals.push(arrival)
      return { arrival, isFirst: call.arrivals.length === 1 }
    })
    this.serving.add(serving)
    void serving.finally(() => {
      this.activity++
      this.serving.delete(serving)
    })
  }

  private sideFor(call: MadeCall): ProviderSide {
    return {
      passes: async (point, arrival, marker) => {
        const { caller, plan } = call
        if (plan.leaving !== point || caller.hasLeft) return
        if (marker !== '' && arrival.body.stream === true) await caller.receives(marker)
        caller.leave()
        await this.fronts.get(call.requestId)
        await turns(2)
      },
      sleeps: (ms) =>
        new Promise((resolve) => {
          this.sleepers.add({ until: this.clock.now() + ms, wake: resolve })
        }),
    }
  }

  private heard(event: RouterEvent): void {
    this.events.push(event)
    this.activity++
    if (event.type !== 'request-end') return
    const call = this.byRequest.get(event.requestId)
    if (call !== undefined) call.end = event
    for (const look of [...this.ended]) look()
  }

  /** Waits for events until this holds. */
  private async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.ended.delete(look)
          resolve()
        }
        this.ended.add(look)
      })
    }
  }

  /** Waits until the router and the providers have nothing left to do for any call. */
  private async settled(): Promise<void> {
    await this.until(() => this.count('request-start') === this.count('request-end'))
    await Promise.all(this.serving)
  }

  private count(type: RouterEvent['type']): number {
    return this.events.filter((event) => event.type === type).length
  }

  /** Waits until nothing has happened for a while: everything pending waits for the clock. */
  private async quiet(isDone: () => boolean): Promise<void> {
    let looks = 0
    let seen = this.activity
    while (looks < QUIET_LOOKS && !isDone()) {
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
      looks = seen === this.activity ? looks + 1 : 0
      seen = this.activity
    }
  }

  private nextStep(): number {
    const now = this.clock.now()
    const next = Math.min(...[...this.sleepers].map(({ until }) => until - now))
    // A provider that is writing must not be taken for a silent one.
    const stalled = this.calls.some(
      ({ arrivals, end, plan }) =>
        plan.leaving === 'never-reads' &&
        end === undefined &&
        arrivals.some(({ ended, status }) => status === 200 && ended === undefined),
    )
    return Math.max(1, stalled ? TIMEOUTS.clientStallMs + 1 : Number.isFinite(next) ? next : 1_000)
  }

  private async within(work: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const open = this.calls.filter(({ end }) => end === undefined).map(({ plan }) => plan.name)
        reject(new Error(`The calls did not end: ${open.join(', ') || 'none is open'}.`))
      }, STUCK_MS)
    })
    try {
      await Promise.race([work, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Of a caller's own data, only its trace reaches a provider next to the request. It identifies the call. */
function traceparent(requestId: string): string {
  return `00-${Buffer.from(requestId).toString('hex').padStart(32, '0')}-00000000000000ff-01`
}

function requestIdIn(trace: unknown): string {
  const hex = String(trace).split('-')[1] ?? ''
  return Buffer.from(hex.replace(/^(00)+/, ''), 'hex').toString()
}
