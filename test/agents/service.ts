import { createCompatRouter, memoryCatalogue, memoryCredentials, memoryLedger } from '../../src/index.js'
import type { Target } from '../conversations/shape.js'
import { type RecordedRequest, type StrictReply, StrictUpstream } from '../conversations/strict/index.js'
import { KINDS } from '../conversations/targets.js'
import { RouterHarness } from '../helpers/router-harness.js'
import type { Place } from './agents.js'
import { offeredTools } from './offered-tools.js'
import { ASIDE, callFor, isForTask, PRICES, TURNS } from './task.js'

const ACCOUNT = 'agent'
const KEY = 'sk-agent-2f6b8c1e'
const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }

/** A request that was accepted as one of the task. */
interface Asked {
  readonly target: Target
  readonly request: RecordedRequest
}

/** A router before strict stand-ins of providers, which say and do one task. Each turn goes to the target at its position. */
export class Service {
  /** In order. */
  readonly asked: Asked[] = []
  /** The number of requests that were accepted beside the task. */
  asides = 0
  private readonly ledger = memoryLedger({ [ACCOUNT]: '100' })

  private constructor(
    private readonly harness: RouterHarness,
    private readonly upstream: StrictUpstream,
    private readonly targets: readonly Target[],
    private readonly folder: string,
  ) {}

  static async start(
    model: string,
    targets: readonly Target[],
    folder: string,
  ): Promise<{ service: Service; place: Place }> {
    const service = new Service(new RouterHarness(), await StrictUpstream.start(), targets, folder)
    return { service, place: await service.open(model) }
  }

  private async open(model: string): Promise<Place> {
    const routes = new Map(this.targets.map((target) => [target, this.route(target)]))
    const router = createCompatRouter({
      credentials: memoryCredentials({ [KEY]: { kind: 'api-key', account: ACCOUNT } }),
      catalogue: memoryCatalogue([{ id: model, prices: PRICES, contextLength: 200_000 }]),
      ledger: this.ledger,
      providers: { routes: () => [routes.get(this.target)!] },
      basePath: '/compat/v1',
      onEvent: this.harness.take,
    })
    const { baseUrl } = await this.harness.listen(router)
    this.closing.unshift(() => router.close({ graceMs: 10_000 }))
    return { router: `${baseUrl}/compat`, key: KEY, model }
  }

  private route(target: Target) {
    const { adapter: make, model, row } = KINDS[target]
    const adapter: ReturnType<typeof make> & { close?(): unknown } = make(this.upstream.baseUrl(row))
    this.closing.push(async () => adapter.close?.())
    this.upstream.script(row, (request) => this.reply(request))
    return { id: target, provider: target, adapter, upstreamModel: model }
  }

  /** The provider of this turn. */
  private get target(): Target {
    return this.targets[this.asked.length] ?? this.targets.at(-1)!
  }

  private reply(request: RecordedRequest): StrictReply {
    const tools = offeredTools(request.body)
    if (!isForTask(tools)) {
      this.asides++
      return ASIDE
    }
    const turn = TURNS[this.asked.length]
    this.asked.push({ target: this.target, request })
    if (turn === undefined) throw new Error('The agent asks on after the last turn.')
    const { does, says } = turn
    return does === undefined ? says : { ...says, calls: [callFor(does, tools, this.folder)] }
  }

  /** What the stand-ins refused, in their words. */
  get refusals(): string[] {
    return this.upstream.requests.flatMap(({ refusal, row }) =>
      refusal === undefined ? [] : [`${row} by ${refusal.rule}: ${JSON.stringify(refusal.body)}`],
    )
  }

  /** Requests of the agent that the router did not answer as asked, by their operations and outcomes. */
  get failures(): readonly string[] {
    return this.harness
      .of('request-end')
      .filter(({ outcome }) => outcome !== 'completed')
      .map(({ operation, outcome }) => `${operation}: ${outcome}`)
  }

  /** What the router has left out of requests. */
  get trimmed(): readonly string[] {
    return [...new Set(this.harness.of('request-trimmed').flatMap(({ members }) => members))]
  }

  /** What each call cost. */
  async charged(): Promise<bigint[]> {
    const { entries } = await this.ledger.entries({ account: ACCOUNT }, CONTEXT)
    return entries.flatMap(({ charge }) => (charge === undefined ? [] : [charge.cost]))
  }

  async held(): Promise<bigint | undefined> {
    return (await this.ledger.balance(ACCOUNT, CONTEXT))?.held
  }

  private readonly closing: (() => Promise<unknown>)[] = []

  /** Waits until all calls are charged. */
  async close(): Promise<void> {
    for (const close of this.closing) await close()
    await this.harness.close()
    await this.upstream.close()
  }
}
