import type { Awaitable } from '../../contracts/context.js'
import type { CallFacts } from '../../contracts/ledger.js'
import type { Operation } from '../../contracts/operation.js'
import type { IncomingCall, ReplyWriter } from '../../contracts/reply.js'
import { type Admitted, type Arrival, admit } from '../admission/admit.js'
import { openEnvelope } from '../admission/open-envelope.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { andThen } from '../asking/within.js'
import type { CallLog } from '../events/call-log.js'
import { digestJson } from '../idempotency/canonical-json.js'
import { idempotencyKey } from '../idempotency/idempotency.js'
import { chooseRoutes, findRoutes } from '../routing/route-choice.js'
import { type AdmittedCall, callFacts } from './admitted-call.js'
import { Call } from './call.js'
import type { EngineParts } from './parts.js'

/** A request that passed admission, with everything that the steps behind it need. */
interface Incoming {
  readonly operation: Operation
  readonly parts: EngineParts
  readonly call: IncomingCall
  readonly context: LazyContext
  readonly log: CallLog
  readonly admitted: Admitted
  readonly facts: CallFacts
}

/**
 * Runs one charged request, from its credential to its reply: admission, idempotency, the plan with its routes, the
 * call. Each step throws the error for the client.
 */
export function runOperation(
  operation: Operation,
  parts: EngineParts,
  call: IncomingCall,
  writer: ReplyWriter,
  context: LazyContext,
  log: CallLog,
): Promise<void> {
  const read: Arrival['read'] = (body, headers) => operation.read(body, headers)
  return admit(parts, { kind: 'charged', operation, call, context, log, read }, (admitted) => {
    const facts = noteRequest(admitted, call, log, parts)
    // No variable of this function may hold the request, or it would stay in memory until the reply ends.
    const incoming: Incoming = { operation, parts, call, context, log, admitted, facts }
    const key = idempotencyKey(call)
    return key === undefined ? complete(incoming, undefined, writer) : completeOnce(incoming, key, writer)
  })
}

function complete(incoming: Incoming, claim: string | undefined, writer: ReplyWriter): Awaitable<void> {
  return andThen(prepare(incoming, claim), (call) => new Call(incoming.parts, call, writer).run())
}

async function completeOnce(incoming: Incoming, key: string, writer: ReplyWriter): Promise<void> {
  const { admitted, log, operation, parts } = incoming
  const { caller } = admitted
  const digest = await digestOf(operation, admitted)
  const request = { key, digest, caller, errors: operation.errors }
  await parts.idempotency.once(request, writer, log, (claim, reply) => complete(incoming, claim, reply))
}

/** Returns the digest of a request as it was sent, without the session of a header. */
function digestOf(operation: Operation, { request }: Admitted): Promise<string> {
  return digestJson({ operation: operation.name, request: operation.digest(request.asSent) })
}

/** Records the request in the log, and reports it to the host. Returns the facts of the call. */
function noteRequest(
  { caller, model, request }: Admitted,
  call: IncomingCall,
  log: CallLog,
  parts: EngineParts,
): CallFacts {
  const { asked } = request
  const facts = callFacts(call.requestId, caller.principal, model.id, asked)
  log.begin(facts, asked, call)
  reportLeftOut(asked.leftOut, asked.model, call.requestId, parts)
  return facts
}

/** Plans a call, chooses its routes, and opens the provider key that it brings. */
function prepare(
  { admitted, call, context, facts, log, operation, parts }: Incoming,
  claim: string | undefined,
): Awaitable<AdmittedCall> {
  const { options } = parts
  const { caller, memory, model, request } = admitted
  const { markup, principal } = caller
  const { asked } = request
  const neverOverdraw = options.neverOverdraw || caller.limits?.hasBudget === true
  const plan = operation.plan(asked, model, neverOverdraw ? parts.boundedPlan : options, {
    principal,
    userAgent: call.header('user-agent'),
  })
  if (plan.namedBytes !== undefined) memory.takeRequest(plan.namedBytes)
  if (plan.leftOut !== undefined) reportLeftOut(plan.leftOut, asked.model, call.requestId, parts)
  const { account } = principal
  return andThen(findRoutes(model, context, options), (registered) => {
    const { calls, routes, explanation } = chooseRoutes(
      { operation, asked, model, plan, account, markup, routes: registered, spreadKey: options.newId },
      parts.health,
      parts.readPrices,
    )
    log.routing = explanation
    const envelope = asked.own.providerKey
    const opened =
      envelope === undefined
        ? undefined
        : openEnvelope(envelope, { provider: routes[0]!.provider, account }, context, options)
    return andThen(opened, (providerKey) => ({
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
    }))
  })
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
