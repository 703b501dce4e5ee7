import type { Operation } from '../../contracts/operation.js'
import type { IncomingCall, ReplyWriter } from '../../contracts/reply.js'
import { textOf } from '../../protocol/json-values.js'
import { askLimiter } from '../admission/admit.js'
import { authenticate } from '../admission/authenticate.js'
import { authoriseModel, authoriseScope } from '../admission/authorise.js'
import { checkOperation, findModel } from '../admission/find-model.js'
import { openEnvelope } from '../admission/open-envelope.js'
import { checkParameters } from '../admission/parameters.js'
import { sessionFromHeader } from '../admission/session-header.js'
import type { LazyContext } from '../asking/lazy-context.js'
import type { CallLog } from '../events/call-log.js'
import { idempotencyKey } from '../idempotency/idempotency.js'
import { chooseRoutes, findRoutes } from '../routing/route-choice.js'
import { type AdmittedCall, callFacts } from './admitted-call.js'
import { Call } from './call.js'
import type { EngineParts } from './parts.js'

/**
 * One charged request, from its credential to its reply. The steps stand in their order. Each throws the error for the
 * client.
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
  try {
    await askLimiter(principal, context, options)
    authoriseScope(principal, operation)
    const body = await inFlight.interruptible(call.readBody(principal.account))
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

    /** Plans the call, chooses its routes, opens the key that it brings, and runs it. */
    const complete = async (claim: string | undefined, reply: ReplyWriter): Promise<void> => {
      const neverOverdraw = options.neverOverdraw || caller.limits?.hasBudget === true
      const plan = operation.plan(asked, model, neverOverdraw ? parts.boundedPlan : options, {
        principal,
        userAgent: textOf(call.headers['user-agent']),
      })
      if (plan.leftOut !== undefined) reportLeftOut(plan.leftOut, asked.model, call.requestId, parts)
      const { account } = principal
      const registered = await findRoutes(model, context, options)
      const { routes, explanation } = chooseRoutes(
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
      const admitted: AdmittedCall = {
        requestId: call.requestId,
        operation,
        caller,
        model,
        asked,
        facts,
        log,
        neverOverdraw,
        plan,
        routes,
        providerKey,
        claim,
      }
      await new Call(parts, admitted, reply).run()
    }

    const key = idempotencyKey(call)
    if (key === undefined) await complete(undefined, writer)
    else {
      const content = { operation: operation.name, request: operation.digest(read) }
      await idempotency.once({ key, caller, content, errors: operation.errors }, writer, log, complete)
    }
  } finally {
    leave()
  }
}

/** Reports members that were left out of a request, each once for each model. */
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
