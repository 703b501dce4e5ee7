import type { Awaitable, Secret } from '../contracts/context.js'
import type { EnvelopeBinding } from '../contracts/envelope.js'
import type { IncomingCall, ReplyWriter } from '../contracts/reply.js'
import { CompatError } from '../errors.js'
import { type ParsedChatRequest, parseChatRequest } from '../protocol/chat-request.js'
import { admit } from './admission/admit.js'
import { authenticate } from './admission/authenticate.js'
import { authoriseModel, authoriseScope } from './admission/authorise.js'
import { findModel } from './admission/find-model.js'
import { checkParameters } from './admission/parameters.js'
import { sessionFromHeader } from './admission/session-header.js'
import { andThen, isPromise } from './asking/awaitable.js'
import type { LazyContext } from './asking/lazy-context.js'
import { askStore } from './asking/stores.js'
import type { AdmittedCall } from './call/admitted-call.js'
import { CompletionCall } from './call/completion-call.js'
import { callFacts } from './call/facts.js'
import type { EngineParts } from './call/parts.js'
import { estimatePrompt } from './charging/prompt-estimate.js'
import type { CallLog } from './events/call-log.js'
import { faultyStore } from './failures/store-failures.js'
import { type Idempotency, idempotencyKey } from './idempotency/idempotency.js'
import { chooseRoutes, type RouteChoice } from './routing/route-choice.js'

/**
 * One chat completion, from its credential to its reply. The steps stand in the order in which they are taken; each
 * throws what the client is to be told.
 */
export async function chat(
  parts: EngineParts,
  idempotency: Idempotency,
  call: IncomingCall,
  writer: ReplyWriter,
  context: LazyContext,
  log: CallLog,
): Promise<void> {
  const { options } = parts
  const known = authenticate(call, context, parts, log)
  const caller = isPromise(known) ? await known : known
  const leave = parts.inFlight.enter(caller.principal)
  try {
    if (options.admit !== undefined) await admit(options.admit, caller, context, options)
    authoriseScope(caller.principal)
    const received = call.readBody(caller.principal.account)
    const body = parseChatRequest(
      isPromise(received) ? await parts.inFlight.interruptible(received) : received,
    )
    const request = sessionFromHeader(body, call.headers)
    const found = findModel(request.forward.model, context, options)
    const model = isPromise(found) ? await found : found
    authoriseModel(caller.principal, model.id, request.own)
    checkParameters(model, request)
    const facts = callFacts(call.requestId, caller.principal, model.id, request)
    log.begin(facts, request, call.headers)
    reportLeftOut(parts, call.requestId, request)

    const accepted: AcceptedCall = { requestId: call.requestId, caller, model, request, facts, log }
    const key = idempotencyKey(call)
    if (key === undefined) await complete(parts, accepted, undefined, writer, context)
    else {
      await idempotency.once(key, caller, body, writer, log, async (claim, reply) =>
        complete(parts, accepted, claim, reply, context),
      )
    }
  } finally {
    leave()
  }
}

/** Reports members that were left out of a request, each once for each model. */
function reportLeftOut(
  { firstTimes, options }: EngineParts,
  requestId: string,
  { forward: { model }, leftOut }: ParsedChatRequest,
): void {
  if (leftOut.length === 0) return
  const members = leftOut.filter((member) => firstTimes.isFirst(`request-trimmed ${model} ${member}`))
  if (members.length > 0) options.emit({ type: 'request-trimmed', requestId, model, members })
}

type AcceptedCall = Omit<AdmittedCall, 'routes' | 'providerKey' | 'claim'>

/** Chooses the routes of a call, opens the key that it brings, and runs it. */
function complete(
  parts: EngineParts,
  call: AcceptedCall,
  claim: string | undefined,
  writer: ReplyWriter,
  context: LazyContext,
): Awaitable<void> {
  const { caller, facts, log, model, request, requestId } = call
  return andThen(choose(parts, call, context), ({ routes, explanation }) => {
    log.routing = explanation
    const envelope = request.own.providerKey
    const opening =
      envelope === undefined
        ? undefined
        : openEnvelope(parts, envelope, { provider: routes[0]!.provider, account: facts.account }, context)
    return andThen(opening, (providerKey) => {
      const admitted = { requestId, caller, model, request, facts, routes, providerKey, log, claim }
      return new CompletionCall(parts, admitted, writer).run()
    })
  })
}

function choose(
  { health, options, readPrices }: EngineParts,
  { facts, model, request, requestId }: AcceptedCall,
  context: LazyContext,
): Awaitable<RouteChoice> {
  const answer = askStore('providers', options, context, () => options.providers.routes(model, context))
  return andThen(answer, (routes) => {
    if (!Array.isArray(routes))
      throw faultyStore('providers', options, requestId, 'routes() did not return a list')
    return chooseRoutes(
      {
        routes,
        model,
        request,
        account: facts.account,
        spreadKey: options.newId,
        promptTokens: () => estimatePrompt(request.forward, model, options).atMost(),
      },
      health,
      readPrices,
    )
  })
}

async function openEnvelope(
  { options }: EngineParts,
  envelope: string,
  binding: EnvelopeBinding,
  context: LazyContext,
): Promise<Secret> {
  const { envelopes } = options
  if (envelopes === undefined) {
    throw new CompatError('provider_not_enabled', "This service takes no provider keys of a caller's.", {
      param: 'provider_key',
    })
  }
  const opened = await askStore('envelopes', options, context, () =>
    envelopes.open(envelope, binding, context),
  )
  if (opened?.ok === true) {
    // Without a key this would be a call on the host's.
    if (isKey(opened.secret)) return opened.secret
    throw faultyStore('envelopes', options, context.requestId, 'open() returned no key')
  }
  switch (opened?.reason) {
    case 'expired':
      throw new CompatError(
        'provider_key_expired',
        'The provider key in provider_key has expired. Seal it again.',
        {
          param: 'provider_key',
        },
      )
    case 'mismatch':
      throw new CompatError(
        'provider_key_mismatch',
        'provider_key was sealed for another provider or another account.',
        { param: 'provider_key' },
      )
    case 'invalid':
      throw new CompatError(
        'provider_key_invalid',
        'provider_key cannot be opened. Seal the key with a current public key from GET /envelope-keys.',
        { param: 'provider_key' },
      )
  }
  throw faultyStore('envelopes', options, context.requestId, 'open() returned neither a key nor a reason')
}

function isKey(secret: Secret | undefined): boolean {
  const key: unknown = typeof secret?.reveal === 'function' ? secret.reveal() : undefined
  return typeof key === 'string' && key !== ''
}
