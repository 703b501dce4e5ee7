import { z } from 'zod'
import { isCompatError } from '../base/errors.js'
import { MemoryBudget } from '../base/memory-budget.js'
import { UnorderedList } from '../base/unordered-list.js'
import type { CallInFlight } from '../contracts/call-in-flight.js'
import type { EngineOptions } from '../contracts/engine-options.js'
import type { LedgerLookUps } from '../contracts/look-ups.js'
import type { Api, Asked, Operation } from '../contracts/operation.js'
import type { IncomingCall, ReplyWriter } from '../contracts/reply.js'
import type { RouteHealth } from '../contracts/route-health.js'
import { asCompatError, type ErrorStyle, errorReply } from '../protocol/error-body.js'
import { JSON_TYPE } from '../protocol/media-types.js'
import { readTraceContext } from '../protocol/trace-context.js'
import { NO_BYTES, type WireBytes } from '../protocol/wire-bytes.js'
import { optionsSchema, readOptions } from '../rules/read-options.js'
import { type Admitted, type Arrival, admit } from './admission/admit.js'
import type { Caller } from './admission/authenticate.js'
import { InFlight } from './admission/in-flight.js'
import { letIn } from './admission/let-in.js'
import { LookUps } from './admission/look-ups.js'
import { LazyContext } from './asking/lazy-context.js'
import { withOwnMembers } from './asking/own-members.js'
import { OwnTimers } from './call/own-timers.js'
import type { EngineParts } from './call/parts.js'
import { runOperation } from './call/pipeline.js'
import { Watchdog } from './call/watchdog.js'
import { createLimitReader } from './charging/caller-limits.js'
import { holdIdsOf } from './charging/held-credit.js'
import { HoldKeeper } from './charging/hold-keeper.js'
import { type FoundCall, LedgerClient } from './charging/ledger-client.js'
import { createPriceReader } from './charging/quote.js'
import { Sweeper } from './charging/sweeper.js'
import { CallLog } from './events/call-log.js'
import { CallRecorder } from './events/call-recorder.js'
import { eventError } from './events/event-error.js'
import { FirstTimes } from './events/first-times.js'
import { shuttingDown } from './failures/broken-off.js'
import { Idempotency } from './idempotency/idempotency.js'
import { RouteHealthBook } from './routing/route-health.js'

/** Creates the body of a reply to anybody. */
export type MakePublicBody = (
  context: LazyContext,
) => Promise<{ readonly bytes: WireBytes; readonly etag?: string }>

/** Creates the body of a free reply. */
export type MakeBody = (context: LazyContext, caller: Caller) => Promise<WireBytes>

/** A free count of what a charged operation would be sent. */
export interface Counting<A extends Asked> extends Pick<Arrival<A>, 'operation' | 'read'> {
  /** Its name in events. */
  readonly name: string
  /** Creates the body of the reply. */
  body(admitted: Admitted<A>, context: LazyContext): Promise<WireBytes>
}

/** Runs requests and charges for them. Depends on no operation. None of its answers rejects. */
export interface Engine {
  /** Runs a charged operation, between two events. */
  run(operation: Operation, call: IncomingCall, writer: ReplyWriter): Promise<void>
  /** Answers a free request of a known caller with a JSON body, between two events. */
  answer(name: string, call: IncomingCall, writer: ReplyWriter, body: MakeBody, api?: Api): Promise<void>
  /** Answers a free request that passes the same steps as a call, as far as they hold for counts, between two events. */
  count<A extends Asked>(counting: Counting<A>, call: IncomingCall, writer: ReplyWriter): Promise<void>
  /** Answers anybody's request with a JSON body, without events. */
  answerPublic(call: IncomingCall, writer: ReplyWriter, body: MakePublicBody, api?: Api): Promise<void>
  /** Returns a call by its id, as this process or the ledger knows it, or undefined if the account has none. */
  findCall(
    callId: string,
    account: string,
    context: LazyContext,
    lookUps: LedgerLookUps,
  ): Promise<FoundCall | undefined>
  /** The options, protected against members on `Object.prototype`. */
  readonly options: EngineOptions
  readonly memory: MemoryBudget
  readonly inFlight: number
  readonly openHolds: number
  /** Whether {@link close} was called. */
  isClosing(): boolean
  calls(): readonly CallInFlight[]
  routes(): readonly RouteHealth[]
  sweep(): Promise<{ expired: number }>
  close(options?: { graceMs?: number }): Promise<{ drained: number; aborted: number }>
}

const DEFAULT_GRACE_MS = 10_000
const GRACE =
  'must be a number of milliseconds, 0 or more, such as 30_000; Infinity waits until all calls have ended'
const closeSchema = optionsSchema<{ readonly graceMs?: number }>({
  graceMs: z.custom<number>((given) => typeof given === 'number' && given >= 0, GRACE).optional(),
})
/** Only the client's own cache may keep an answer, and must revalidate it, since an answer with a credential differs. */
const KEPT_IF_ANONYMOUS = 'private, no-cache'
const JSON_HEADERS = Object.freeze({ 'content-type': JSON_TYPE })

export function createEngine(given: EngineOptions): Engine {
  const options = withOwnMembers(given)
  const inFlight = new InFlight(options.concurrency)
  const memory = new MemoryBudget(options.sizes.memoryBytes)
  const parts: EngineParts = {
    options,
    // A cheap counter is enough for the replies, since another one counts the hold.
    boundedPlan: {
      ...options,
      neverOverdraw: true,
      counter: options.replyCounter,
      contextCounter: options.counter,
    },
    ledger: new LedgerClient(options),
    holds: new HoldKeeper(options, () => inFlight.renewHolds()),
    lookUps: new LookUps(options),
    inFlight,
    memory,
    idempotency: new Idempotency({ inFlight, memory, options }),
    watchdog: new (options.isolatesCalls ? OwnTimers : Watchdog)(options.clock),
    health: new RouteHealthBook(options),
    readPrices: createPriceReader(),
    readLimits: createLimitReader(options.wallClock),
    firstTimes: new FirstTimes(),
  }
  const calls = new UnorderedList<CallLog>()
  const recorder = new CallRecorder(options)
  const endDroppedWatch = options.calls.watchDropped?.(({ count, error }) => {
    options.emit({ type: 'calls-dropped', count, ...(error !== undefined && { error: eventError(error) }) })
  })
  const sweeper = new Sweeper(options)
  if (!options.isolatesCalls) {
    sweeper.start()
    parts.holds.start()
  }
  let closing: Promise<{ drained: number; aborted: number }> | undefined

  /** Runs a request between its two events. Answers with the error that it throws. */
  async function between(
    call: IncomingCall,
    name: string,
    isCharged: boolean,
    writer: ReplyWriter,
    { errors }: Api,
    run: (context: LazyContext, log: CallLog) => Promise<void>,
  ): Promise<void> {
    const { requestId } = call
    const trace = options.traceContext === undefined ? undefined : readTraceContext(call)
    const log = new CallLog(requestId, name, options, recorder, trace)
    if (isCharged) calls.add(log)
    const context = new LazyContext(requestId)
    writer.onLeave(() => context.end())
    try {
      if (closing !== undefined) throw shuttingDown()
      await run(context, log)
    } catch (caught) {
      const error = asCompatError(caught)
      log.failed(error.code, error.status, error.param)
      refuse(requestId, writer, caught, errors)
      context.end()
    } finally {
      calls.remove(log)
    }
    if (writer.left) log.left()
    log.end()
  }

  /** Answers with an error. Reports any error but a `CompatError` to the host as a fault. */
  function refuse(requestId: string, writer: ReplyWriter, caught: unknown, errors?: ErrorStyle): void {
    if (!isCompatError(caught)) {
      options.emit({ type: 'fault', where: 'engine', requestId, error: eventError(caught) })
    }
    const { status, headers, body } = errorReply(asCompatError(caught), errors)
    writer.send(status, headers, body)
  }

  async function shutDown(graceMs: number): Promise<{ drained: number; aborted: number }> {
    const swept = sweeper.end()
    parts.inFlight.close()
    const before = parts.inFlight.count
    let aborted = 0
    const abort = (): void => {
      aborted = parts.inFlight.count
      parts.inFlight.shutDownAll()
    }
    const cancel = graceMs === Infinity ? undefined : options.clock.after(graceMs, abort)
    await parts.inFlight.empty()
    cancel?.()
    parts.watchdog.close()
    await parts.ledger.idle()
    await parts.holds.end()
    await swept
    endDroppedWatch?.()
    return { drained: before - aborted, aborted }
  }

  return {
    options,
    memory,

    run: (operation, call, writer) =>
      between(call, operation.name, true, writer, operation, (context, log) =>
        runOperation(operation, parts, call, writer, context, log),
      ),

    answer: (name, call, writer, body, api = {}) =>
      between(call, name, false, writer, api, (context, log) =>
        letIn(
          parts,
          call,
          context,
          log,
          async (caller) => writer.send(200, JSON_HEADERS, await body(context, caller)),
          api,
        ),
      ),

    count: ({ body, name, operation, read }, call, writer) =>
      between(call, name, false, writer, operation, (context, log) =>
        admit(parts, { kind: 'counted', operation, call, context, log, read }, async (admitted) => {
          writer.send(200, JSON_HEADERS, await body(admitted, context))
        }),
      ),

    answerPublic: async (call, writer, body, { errors } = {}) => {
      const { requestId } = call
      const context = new LazyContext(requestId)
      writer.onLeave(() => context.end())
      try {
        const { bytes, etag } = await body(context)
        if (etag === undefined) return void writer.send(200, JSON_HEADERS, bytes)
        const kept = { 'cache-control': KEPT_IF_ANONYMOUS, etag }
        if (call.header('if-none-match') === etag) writer.send(304, kept, NO_BYTES)
        else writer.send(200, { ...JSON_HEADERS, ...kept }, bytes)
      } catch (caught) {
        refuse(requestId, writer, caught, errors)
      }
    },

    findCall: (callId, account, context, lookUps) =>
      parts.ledger.find({ account, holdIds: holdIdsOf(callId) }, context, lookUps),

    get inFlight() {
      return parts.inFlight.count
    },

    get openHolds() {
      return parts.ledger.openHolds
    },

    isClosing: () => closing !== undefined,

    calls: () => calls.items.map((log) => log.soFar()).sort((one, other) => other.startedAt - one.startedAt),

    routes: () => parts.health.snapshot(),

    sweep: () => sweeper.sweep(),

    close: async (asking = {}) => {
      const { graceMs = DEFAULT_GRACE_MS } = readOptions(closeSchema, isSignal(asking) ? {} : asking, 'close')
      closing ??= shutDown(graceMs)
      return closing
    },
  }
}

/** Node passes a signal's name to its listeners: `process.on('SIGTERM', router.close)` must work. */
function isSignal(given: unknown): boolean {
  return typeof given === 'string' && given.startsWith('SIG')
}
