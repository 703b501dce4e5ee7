import type { CallMemory } from '../../base/memory-budget.js'
import type { Model } from '../../contracts/catalogue.js'
import type { CallFacts } from '../../contracts/ledger.js'
import type { Operation } from '../../contracts/operation.js'
import type { IncomingCall, ReplyWriter } from '../../contracts/reply.js'
import { textOf } from '../../protocol/json-values.js'
import { askLimiter } from '../admission/admit.js'
import { authenticate, type Caller } from '../admission/authenticate.js'
import { authoriseModel, authoriseScope } from '../admission/authorise.js'
import { checkOperation, findModel } from '../admission/find-model.js'
import { openEnvelope } from '../admission/open-envelope.js'
import { checkParameters } from '../admission/parameters.js'
import { sessionFromHeader } from '../admission/session-header.js'
import type { LazyContext } from '../asking/lazy-context.js'
import type { CallLog } from '../events/call-log.js'
import { digestJson } from '../idempotency/canonical-json.js'
import { idempotencyKey } from '../idempotency/idempotency.js'
import { chooseRoutes, findRoutes } from '../routing/route-choice.js'
import { type AdmittedCall, callFacts, HeldRequest } from './admitted-call.js'
import { Call } from './call.js'
import type { EngineParts } from './parts.js'

/** Everything that each step of a request needs. */
interface Incoming {
  readonly operation: Operation
  readonly parts: EngineParts
  readonly call: IncomingCall
  readonly context: LazyContext
  readonly log: CallLog
  readonly caller: Caller
  readonly memory: CallMemory
}

/** A request that has been read and checked. */
interface ReadRequest {
  readonly request: HeldRequest
  readonly model: Model
  readonly facts: CallFacts
  /** Set if the request has an `Idempotency-Key`. */
  readonly keyed: { readonly key: string; readonly digest: string } | undefined
}

/**
 * Runs one charged request, from its credential to its reply. The steps are listed in order. Each throws the error for
 * the client.
 */
export async function runOperation(
  operation: Operation,
  parts: EngineParts,
  call: IncomingCall,
  writer: ReplyWriter,
  context: LazyContext,
  log: CallLog,
): Promise<void> {
  const { idempotency, inFlight, options } = parts
  const caller = await authenticate(call, context, parts, log, operation.tokenHeader)
  const { principal } = caller
  const leave = inFlight.enter(principal)
  const memory = parts.memory.open(principal.account)
  const incoming: Incoming = { operation, parts, call, context, log, caller, memory }
  try {
    await askLimiter(principal, context, options)
    authoriseScope(principal, operation)
    parts.memory.checkRoom()
    // No variable of this function may hold what is read here, or it would stay in memory until the reply ends.
    const read = await readRequest(incoming)
    const complete = async (claim: string | undefined, reply: ReplyWriter): Promise<void> =>
      new Call(parts, await prepare(incoming, read, claim), reply).run()

    const { keyed } = read
    if (keyed === undefined) await complete(undefined, writer)
    else await idempotency.once({ ...keyed, caller, errors: operation.errors }, writer, log, complete)
  } finally {
    memory.end()
    leave()
  }
}

/** Reads and checks a request. */
async function readRequest({
  call,
  caller: { principal },
  context,
  log,
  memory,
  operation,
  parts,
}: Incoming): Promise<ReadRequest> {
  const { inFlight, options } = parts
  const received = call.readBody(principal.account, (bytes) => memory.checkRequest(bytes))
  const body = await inFlight.interruptible(received)
  memory.takeRequest(body.bytes)
  const read = operation.read(body, call.headers)
  const asked = sessionFromHeader(read, call.headers)
  log.askedModel = asked.model
  const model = await findModel(asked.model, context, options)
  checkOperation(operation, model)
  authoriseModel(principal, model.id, asked.own)
  checkParameters(operation, asked, model)
  const facts = callFacts(call.requestId, principal, model.id, asked)
  log.begin(facts, asked, call.headers)
  reportLeftOut(asked.leftOut, asked.model, call.requestId, parts)
  const key = idempotencyKey(call)
  const keyed =
    key === undefined
      ? undefined
      : { key, digest: await digestJson({ operation: operation.name, request: operation.digest(read) }) }
  return { request: new HeldRequest(asked), model, facts, keyed }
}

/** Plans a call, chooses its routes, and opens the provider key that it brings. */
async function prepare(
  { call, caller, context, log, memory, operation, parts }: Incoming,
  { facts, model, request }: ReadRequest,
  claim: string | undefined,
): Promise<AdmittedCall> {
  const { options } = parts
  const { principal } = caller
  const { asked } = request
  const neverOverdraw = options.neverOverdraw || caller.limits?.hasBudget === true
  const plan = operation.plan(asked, model, neverOverdraw ? parts.boundedPlan : options, {
    principal,
    userAgent: textOf(call.headers['user-agent']),
  })
  if (plan.namedBytes !== undefined) memory.takeRequest(plan.namedBytes)
  if (plan.leftOut !== undefined) reportLeftOut(plan.leftOut, asked.model, call.requestId, parts)
  const { account } = principal
  const registered = await findRoutes(model, context, options)
  const { calls, routes, explanation } = chooseRoutes(
    { operation, asked, model, plan, account, routes: registered, spreadKey: options.newId },
    parts.health,
    parts.readPrices,
  )
  log.routing = explanation
  const envelope = asked.own.providerKey
  const providerKey =
    envelope === undefined
      ? undefined
      : await openEnvelope(envelope, { provider: routes[0]!.provider, account }, context, options)
  return {
    requestId: call.requestId,
    operation,
    caller,
    model,
    request,
    stream: asked.stream,
    unlisted: asked.unlisted.map(({ name }) => name),
    memory,
    facts,
    log,
    neverOverdraw,
    plan,
    routes,
    calls,
    providerKey,
    claim,
  }
}

/** Reports members that were left out of a request, each once per model. */
function reportLeftOut(
  leftOut: readonly string[],
  model: string,
  requestId: string,
  { firstTimes, options }: EngineParts,
): void {
  if (leftOut.length === 0) return
  const members = leftOut.filter((member) => firstTimes.isFirst(`request-trimmed ${model} ${member}`))
  if (members.length > 0) options.emit({ type: 'request-trimmed', requestId, model, members })
}
