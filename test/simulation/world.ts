import { CompatError } from '../../src/base/errors.js'
import type { IdempotencyStore } from '../../src/contracts/idempotency.js'
import { memoryIdempotency } from '../../src/memory/idempotency.js'
import { chat } from '../../src/operations/chat/index.js'
import type { ReceivedBody } from '../../src/protocol/request-body.js'
import { headersOf } from '../helpers/headers-of.js'
import type { CallPlan } from './call-plan.js'
import { SimClient } from './client.js'
import { seesBalance, tokensDue } from './oracle.js'
import type { Plant } from './plants.js'
import { createRandom, type Random } from './random.js'
import { planScenario, type Scenario } from './scenario.js'
import { CONTEXT, SharedLedger } from './shared-ledger.js'
import { SimProcess } from './sim-process.js'
import { createIdempotencyLink } from './stores.js'
import type { Dial } from './upstream.js'
import { START_MS, settlePromises, turns, VirtualTime } from './virtual-time.js'

/** One request of a run: its plan and its outcome. */
export interface SimCall {
  readonly plan: CallPlan
  readonly process: SimProcess
  readonly client: SimClient
  startedAt: number
  /** When the router was done with it. */
  doneAt: number | undefined
  steps: number
}

/** Far beyond every limit of a run. A call that still waits then waits forever. */
const HANG_MS = 130_000
/** After the expiry of every hold. */
const AFTERWARDS_MS = 200_000

/** One or two routers, their ledger, providers and clients, on one clock. */
export class World {
  readonly random: Random
  readonly scenario: Scenario
  readonly time: VirtualTime
  readonly ledger: SharedLedger
  readonly processes: SimProcess[]
  readonly calls: SimCall[] = []
  readonly dials: Dial[] = []
  readonly violations: string[] = []
  readonly notes: string[] = []
  private readonly replies: IdempotencyStore
  private readonly byId = new Map<string, SimCall>()

  constructor(
    seed: string,
    readonly plant: Plant | undefined,
    private readonly keepsNotes: boolean,
  ) {
    this.random = createRandom(seed)
    this.scenario = planScenario(seed, this.random)
    this.time = new VirtualTime(this.random)
    this.ledger = new SharedLedger(this.scenario.accounts, this.time, (what) => this.violate(what), {
      limitsOf: (credentialId) =>
        this.scenario.callers.find(({ principal }) => principal.credentialId === credentialId)?.principal
          .limits ?? [],
      seesBalance: (credentialId) =>
        this.scenario.callers.some(
          ({ principal }) => principal.credentialId === credentialId && seesBalance(principal),
        ),
      tokensOf: (requestId) => BigInt(tokensDue(this, this.callOf(requestId)!)),
    })
    const owner = { timers: 0, alive: true }
    this.replies = memoryIdempotency({
      maxBytes: this.scenario.idempotencyBytes,
      clock: this.time.clock(owner),
    })
    this.processes = Array.from(
      { length: this.scenario.processes },
      (_, index) => new SimProcess(this, index),
    )
  }

  /** Plays the run to its end, until nothing moves any more. */
  async play(): Promise<void> {
    const { scenario, time } = this
    const start = time.now
    for (const plan of scenario.calls) time.at(start + plan.atMs, () => this.call(plan))
    for (const { process, atMs, graceMs } of scenario.closes) {
      time.at(start + atMs, () => this.processes[process]!.close(graceMs))
    }
    if (scenario.leap !== undefined) {
      const { atMs, byMs } = scenario.leap
      time.at(start + atMs, () => this.ledger.leap(byMs))
    }
    await this.playUntil(() => this.calls.length === scenario.calls.length && this.calls.every(isDone))
    for (const call of this.calls) {
      if (!isDone(call)) this.violate(`${call.plan.id} is never done with`)
    }
    for (const process of this.processes) process.close(100)
    await this.playUntil(() => this.processes.every(({ alive, closed }) => !alive || closed !== undefined))
    for (const { alive, closed, name } of this.processes) {
      if (alive && closed === undefined) this.violate(`close() of ${name} never ends`)
    }
    await this.afterwards()
  }

  /** A host's final actions: failed charges are posted by hand, and expired holds are swept. */
  private async afterwards(): Promise<void> {
    const { time, ledger } = this
    while (time.step()) await settlePromises()
    for (const { events } of this.processes) {
      for (const event of events) if (event.type === 'charge-failed') await ledger.settle(event.request)
    }
    const open = new Set([...ledger.holds].filter(([, hold]) => hold.open).map(([holdId]) => holdId))
    this.checkOpenHolds(open)
    ledger.aheadMs += AFTERWARDS_MS
    const expired = await ledger.expire(1_000)
    const swept = new Set(expired.map(({ holdId }) => holdId))
    for (const holdId of open) if (!swept.has(holdId)) this.violate(`hold ${holdId} never expired`)
    for (const [account, posted] of ledger.balances) {
      const balance = await ledger.store.balance(account, CONTEXT)
      if (balance?.held !== 0n) this.violate(`${balance?.held} are held of ${account} at the end`)
      if (balance?.posted !== posted) this.violate(`${account} has ${balance?.posted}, should have ${posted}`)
    }
  }

  /** Only a killed process, or one that reported that it could not release it, may leave a hold open. */
  private checkOpenHolds(open: ReadonlySet<string>): void {
    for (const { alive, book, events } of this.processes) {
      if (!alive) continue
      for (const { holdId, facts } of book.holds) {
        if (!open.has(holdId)) continue
        const toldOf = events.some(
          (event) =>
            event.type === 'store-fault' && event.store === 'ledger' && event.requestId === facts.requestId,
        )
        const asked = book.releases.some((release) => release.holdId === holdId)
        if (!toldOf || !asked) this.violate(`hold ${holdId} of ${facts.requestId} is left open`)
      }
    }
  }

  private async playUntil(isOver: () => boolean): Promise<void> {
    const { time } = this
    await settlePromises()
    const deadline = time.now + HANG_MS
    while (!isOver() && (time.nextAt ?? Infinity) <= deadline) {
      time.step()
      await settlePromises()
    }
  }

  private call(plan: CallPlan): void {
    const process = this.processes[plan.process]!
    const client: SimClient = new SimClient(
      plan.slow,
      {
        step: () => process.step(plan.id, 'sent to the client'),
        later: (ms, run) => void this.time.at(this.time.now + ms, run),
        now: () => this.time.now,
        broken: (what) => this.violate(`${plan.id}: ${what}`),
      },
      () => !process.alive,
    )
    const call: SimCall = { plan, process, client, startedAt: this.time.now, doneAt: undefined, steps: 0 }
    this.calls.push(call)
    this.byId.set(plan.id, call)
    if (!process.alive) {
      client.left = true
      call.doneAt = this.time.now
      return
    }
    if (plan.leave?.after === 'ms') this.time.at(this.time.now + plan.leave.ms, () => this.leave(call))
    const done = process.engine.run(
      chat,
      {
        requestId: plan.id,
        ...headersOf({
          authorization: `Bearer ${this.scenario.callers[plan.caller]!.token}`,
          ...(plan.key !== undefined && { 'idempotency-key': plan.key }),
          ...(plan.retryCount > 0 && { 'x-stainless-retry-count': String(plan.retryCount) }),
        }),
        authorizationLines: 1,
        allowOrigin: () => {},
        query: '',
        readBody: () => this.readBody(plan, process),
      },
      client,
    )
    done.then(
      () => {
        call.doneAt = this.time.now
      },
      (error) => this.violate(`${plan.id}: the engine rejected: ${String(error)}`),
    )
  }

  private async readBody(
    { id, body, bodyFails, bodyMs }: CallPlan,
    process: SimProcess,
  ): Promise<ReceivedBody> {
    process.step(id, 'body')
    if (bodyMs > 0) await this.sleep(bodyMs)
    return process.hears(
      bodyFails
        ? Promise.reject(new CompatError('request_timeout', 'Too slow.'))
        : Promise.resolve({ value: { ...body }, bytes: 100 }),
    )
  }

  /** Counts the steps of a call, and makes its client leave at its time. */
  stepOf(requestId: string): void {
    const call = this.byId.get(requestId)
    if (call === undefined) return
    call.steps++
    const { leave } = call.plan
    if (leave?.after !== 'steps' || leave.steps !== call.steps) return
    turns(leave.turns + 1).then(
      () => this.leave(call),
      () => {},
    )
  }

  private leave({ client, plan, process }: SimCall): void {
    if (client.left || client.over || !process.alive) return
    this.note(() => `${plan.id} leaves`)
    client.leave()
  }

  /** The connections of a killed process are reset. */
  cutOff(process: SimProcess): void {
    for (const call of this.calls) {
      if (call.process !== process || isDone(call)) continue
      call.client.left ||= !call.client.over
      call.client.leftAt ??= this.time.now
      call.doneAt = this.time.now
    }
  }

  get isLedgerOut(): boolean {
    const { outage } = this.scenario
    const ms = this.time.now - START_MS
    return outage !== undefined && ms >= outage.fromMs && ms < outage.toMs
  }

  idempotencyFor(process: SimProcess): IdempotencyStore {
    return createIdempotencyLink(process, this.replies)
  }

  callOf(requestId: string): SimCall | undefined {
    return this.byId.get(requestId)
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.time.at(this.time.now + ms, resolve))
  }

  violate(what: string): void {
    this.note(() => `VIOLATION ${what}`)
    this.violations.push(what)
  }

  note(what: () => string): void {
    if (this.keepsNotes) this.notes.push(`${this.time.now - START_MS} ${what()}`)
  }
}

function isDone(call: SimCall): boolean {
  return call.doneAt !== undefined
}
