import { parseCredits } from '../../src/base/money.js'
import type { EngineOptions } from '../../src/contracts/engine-options.js'
import type { RouterEvent } from '../../src/contracts/events.js'
import type { HoldRequest, ReleaseRequest, SettleRequest, SettleResult } from '../../src/contracts/ledger.js'
import { byteRatioCounter, createByteCounter } from '../../src/engine/charging/token-counters.js'
import { createEngine, type Engine } from '../../src/engine/engine.js'
import { memoryCalls } from '../../src/memory/index.js'
import { createLedgerLink, never } from './ledger-link.js'
import { createStores } from './stores.js'
import type { World } from './world.js'

/** The steps that a closed router may no longer take. */
const AFTER_CLOSE = /^(?:hold|settle|release|sweep|dialled .*)$/

/** The requests of one process to the ledger. */
export class LedgerBook {
  readonly holds: HoldRequest[] = []
  readonly settlements: SettleRequest[] = []
  readonly releases: ReleaseRequest[] = []
  /** When each settlement was first requested. */
  readonly settlingAt = new Map<string, number>()
  /** The ledger's answer to each settlement, whether or not it reached the process. */
  readonly settled = new Map<string, SettleResult>()

  requestOf(holdId: string): string {
    return this.holds.find((hold) => hold.holdId === holdId)?.facts.requestId ?? 'unknown'
  }
}

/** One router process: its own engine, over stores that it shares with the others. */
export class SimProcess {
  readonly name: string
  alive = true
  timers = 0
  readonly engine: Engine
  readonly events: RouterEvent[] = []
  readonly book = new LedgerBook()
  closed: { drained: number; aborted: number } | undefined
  /** When its router was closed, and when it began to abort calls. */
  closingAt: number | undefined
  forcedAt = Infinity
  killedAt: number | undefined
  private steps = 0
  private ids = 0

  constructor(
    readonly world: World,
    readonly index: number,
  ) {
    this.name = `process-${index}`
    const { scenario, time } = world
    const options: EngineOptions = {
      ...createStores(this),
      ledger: createLedgerLink(this, world.ledger),
      idempotency: {
        store: world.idempotencyFor(this),
        ttlMs: 86_400_000,
        keepBodies: scenario.keepBodies,
      },
      platformAccount: scenario.platformAccount,
      neverOverdraw: scenario.neverOverdraw,
      byokFee: {
        flat: parseCredits(scenario.byokFee.flat),
        basisPoints: BigInt(scenario.byokFee.basisPoints),
      },
      calls: memoryCalls(),
      creditHelp: undefined,
      timeouts: scenario.timeouts,
      sizes: scenario.sizes,
      concurrency: scenario.concurrency,
      routing: scenario.routing,
      charging: scenario.charging,
      emit: (event) => this.emit(event),
      heard: 'all',
      traceContext: undefined,
      reasoningName: undefined,
      clock: time.clock(this),
      wallClock: time.clock(this),
      newId: () => `${index}-${++this.ids}`,
      counter: byteRatioCounter,
      replyCounter: byteRatioCounter,
      upperCounter: createByteCounter(),
      isolatesCalls: false,
      fastPaths: { chunks: true, lines: true, messages: true, splice: scenario.splice, turns: true },
    }
    this.engine = createEngine(world.plant?.options?.(options) ?? options)
  }

  /** Something happened in this process, for this request. */
  step(requestId: string, what: string): void {
    if (!this.alive) return
    this.world.note(() => `${this.name} ${requestId}: ${what}`)
    if (this.closed !== undefined && AFTER_CLOSE.test(what)) {
      this.world.violate(`${requestId}: ${what}, although ${this.name} had closed`)
    }
    this.world.stepOf(requestId)
    this.steps++
    const { killAtStep } = this.world.scenario
    if (this.index === 0 && killAtStep !== undefined && this.steps === killAtStep) this.kill()
  }

  /** The process receives nothing any more, and nothing it does has an effect. */
  kill(): void {
    if (!this.alive || this.closed !== undefined) return
    this.world.note(() => `${this.name} is killed`)
    this.alive = false
    this.killedAt = this.world.time.now
    this.world.cutOff(this)
  }

  /** Settles like the answer, or never if the process has been killed by then. */
  async hears<Value>(value: Promise<Value>): Promise<Value> {
    try {
      const heard = await value
      return this.alive ? heard : await never<Value>()
    } catch (error) {
      if (this.alive) throw error
      return never()
    }
  }

  close(graceMs: number): void {
    if (!this.alive || this.closingAt !== undefined) return
    this.world.note(() => `${this.name} closes within ${graceMs} ms`)
    this.closingAt = this.world.time.now
    this.forcedAt = this.closingAt + graceMs
    this.engine.close({ graceMs }).then(
      (report) => {
        this.closed = report
        const { inFlight } = this.engine
        if (inFlight !== 0) this.world.violate(`${this.name} closed with ${inFlight} calls in flight`)
        const isQuiet = this.world.calls.every((call) => call.process !== this || call.doneAt !== undefined)
        if (isQuiet && this.timers !== 0)
          this.world.violate(`${this.name} closed with ${this.timers} timers left`)
      },
      (error) => this.world.violate(`${this.name}: close() rejected: ${String(error)}`),
    )
  }

  private emit(event: RouterEvent): void {
    if (!this.alive) return
    this.world.note(() => `${this.name} event ${event.type} ${describeEvent(event)}`)
    this.events.push(event)
  }
}

function describeEvent(event: RouterEvent): string {
  if (event.type === 'request-end') return `${event.requestId} ${event.status} ${event.outcome}`
  if (event.type === 'store-fault' || event.type === 'fault') return event.error.message
  return 'requestId' in event ? String(event.requestId) : ''
}
