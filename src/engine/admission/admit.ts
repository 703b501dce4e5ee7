import type { CallMemory } from '../../base/memory-budget.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Awaitable } from '../../contracts/context.js'
import type { Asked, Operation } from '../../contracts/operation.js'
import type { IncomingCall } from '../../contracts/reply.js'
import type { RequestBody } from '../../protocol/request-body.js'
import type { RequestHeaders } from '../../protocol/request-headers.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { andThen, isPromise } from '../asking/within.js'
import type { CallLog } from '../events/call-log.js'
import { askLimiter } from './ask-limiter.js'
import { type Admission, authenticate, type Caller } from './authenticate.js'
import { authoriseModel, authoriseScope } from './authorise.js'
import { checkOperation, findModel } from './find-model.js'
import { HeldRequest } from './held-request.js'
import { checkParameters } from './parameters.js'
import { sessionFromHeader } from './session-header.js'

/** What is asked of an operation: to run it, for a charge, or only to count its input, for free. */
export type RequestKind = 'charged' | 'counted'

/** A request of which nothing is known yet. */
export interface Arrival<A extends Asked = Asked> {
  readonly kind: RequestKind
  readonly operation: Operation<A>
  readonly call: IncomingCall
  readonly context: LazyContext
  readonly log: CallLog
  /** Reads the body. Throws a `CompatError` if it is wrong. */
  read(body: RequestBody, headers: RequestHeaders): A
}

/** A request that has passed every step. */
export interface Admitted<A extends Asked = Asked> {
  readonly caller: Caller
  readonly memory: CallMemory
  readonly request: HeldRequest<A>
  readonly model: Model
}

/** A request on its way through the steps. Each member is set by the step that its comment names. */
class Admitting<A extends Asked = Asked> implements Admitted<A> {
  /** `credential` */
  caller!: Caller
  /** `memory` */
  memory!: CallMemory
  /** `body` */
  request!: HeldRequest<A>
  /** `model` */
  model!: Model
  /** Ends what `place` or `visit` began. */
  leave: (() => void) | undefined
  /** Ends what `memory` began. */
  giveBack: (() => void) | undefined

  constructor(
    readonly parts: Admission,
    readonly arrival: Arrival<A>,
  ) {}
}

interface Step {
  readonly name: string
  readonly kinds: readonly RequestKind[]
  /** Throws the error for the client. */
  run(request: Admitting): Awaitable<void>
}

const BOTH: readonly RequestKind[] = ['charged', 'counted']
const CHARGED: readonly RequestKind[] = ['charged']
const COUNTED: readonly RequestKind[] = ['counted']

/**
 * Everything that a request passes before any credit is touched, in order. A call passes the steps for `charged`. A
 * count of its input passes those for `counted`.
 */
export const STEPS: readonly Step[] = [
  { name: 'credential', kinds: BOTH, run: findCaller },
  { name: 'place', kinds: CHARGED, run: enter },
  { name: 'visit', kinds: COUNTED, run: visit },
  { name: 'limiter', kinds: BOTH, run: askHost },
  { name: 'scope', kinds: BOTH, run: checkScope },
  { name: 'memory', kinds: BOTH, run: openMemory },
  { name: 'body', kinds: BOTH, run: readBody },
  { name: 'session', kinds: CHARGED, run: addSession },
  { name: 'model', kinds: BOTH, run: lookUpModel },
  { name: 'operation', kinds: BOTH, run: checkItsOperation },
  { name: 'allowed model', kinds: BOTH, run: checkAllowed },
  { name: 'parameters', kinds: BOTH, run: checkItsParameters },
]

const STEPS_OF: Readonly<Record<RequestKind, readonly Step[]>> = {
  charged: STEPS.filter(({ kinds }) => kinds.includes('charged')),
  counted: STEPS.filter(({ kinds }) => kinds.includes('counted')),
}

/** Takes a request through its {@link STEPS}, and then runs it. Throws the error of the first step that refuses it. */
export async function admit<A extends Asked>(
  parts: Admission,
  arrival: Arrival<A>,
  run: (admitted: Admitted<A>) => Awaitable<void>,
): Promise<void> {
  const request = new Admitting(parts, arrival)
  try {
    const steps = STEPS_OF[arrival.kind]
    // An iterator would be an object of each call, kept while a step waits.
    for (let at = 0; at < steps.length; at++) {
      const passed = steps[at]!.run(request)
      if (isPromise(passed)) await passed
    }
    await run(request)
  } finally {
    request.giveBack?.()
    request.leave?.()
  }
}

function findCaller(request: Admitting): Awaitable<void> {
  const { arrival, parts } = request
  const { call, context, log, operation } = arrival
  return andThen(authenticate(call, context, parts, log, operation.tokenHeader), (caller) => {
    request.caller = caller
  })
}

function enter(request: Admitting): void {
  request.leave = request.parts.inFlight.enter(request.caller.principal)
}

/** A shutdown does not wait for a count. */
function visit(request: Admitting): void {
  request.leave = request.parts.inFlight.visit(request.caller.principal)
}

function askHost({ arrival, caller, parts }: Admitting): Awaitable<void> {
  return askLimiter(caller.principal, arrival.context, parts.options)
}

function openMemory(request: Admitting): void {
  const { memory } = request.parts
  memory.checkRoom()
  const opened = memory.open(request.caller.principal.account)
  request.memory = opened
  request.giveBack = () => opened.end()
}

function readBody(request: Admitting): Awaitable<void> {
  const { arrival, caller, memory, parts } = request
  const { call } = arrival
  const received = call.readBody(caller.principal.account, (bytes) => memory.checkRequest(bytes))
  return andThen(parts.inFlight.interruptible(received), (body) => {
    memory.takeRequest(body.bytes)
    request.request = new HeldRequest(arrival.read(body, call))
  })
}

function addSession({ arrival, request }: Admitting): void {
  const { call, log } = arrival
  const asked = sessionFromHeader(request.asked, call)
  request.change(asked)
  log.askedModel = asked.model
}

function lookUpModel(request: Admitting): Awaitable<void> {
  const { arrival, parts } = request
  return andThen(findModel(request.request.asked.model, arrival.context, parts.options), (model) => {
    request.model = model
  })
}

function checkScope({ arrival, caller }: Admitting): void {
  authoriseScope(caller.principal, arrival.operation)
}

function checkItsOperation({ arrival, model }: Admitting): void {
  checkOperation(arrival.operation, model)
}

function checkAllowed({ caller, model, request }: Admitting): void {
  authoriseModel(caller.principal, model.id, request.asked.own)
}

function checkItsParameters({ arrival, model, request }: Admitting): void {
  checkParameters(arrival.operation, request.asked, model)
}
