import type { Secret } from '../contracts/context.js'
import type { IncomingCall, ReplyWriter } from '../contracts/reply.js'
import { CompatError } from '../errors.js'
import { type ParsedChatRequest, parseChatRequest } from '../protocol/chat-request.js'
import type { AdmittedCall } from './admission/admitted-call.js'
import { authenticate, type Caller } from './admission/authenticate.js'
import { authoriseModel, authoriseScope } from './admission/authorise.js'
import { findModel } from './admission/find-model.js'
import { checkParameters } from './admission/parameters.js'
import { sessionFromHeader } from './admission/session-header.js'
import { CompletionCall } from './call/completion-call.js'
import { callFacts } from './call/facts.js'
import { estimatePrompt } from './charging/prompt-estimate.js'
import type { CallLog } from './events/call-log.js'
import { eventError } from './events/event-error.js'
import type { Idempotency } from './idempotency/idempotency.js'
import type { EngineParts } from './parts.js'
import { chooseRoutes } from './routing/route-choice.js'
import { askStore, faultyStore } from './stores.js'
import { type LazyContext, within } from './within.js'

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
  const caller = await authenticate(call, context, options)
  const leave = parts.inFlight.enter(caller.principal)
  try {
    await admit(caller, context, parts)
    authoriseScope(caller.principal)
    const body = parseChatRequest(await parts.inFlight.interruptible(call.readBody()))
    const request = sessionFromHeader(body, call.headers)
    const model = await findModel(request.forward.model, context, options)
    authoriseModel(caller.principal, model.id, request.own)
    checkParameters(model, request)
    const facts = callFacts(call.requestId, caller.principal, model.id, request)
    log.begin(facts, request, call.headers)

    await idempotency.once(call, caller, body, writer, log, async (claim, reply) => {
      const { routes, explanation } = await choose(parts, call.requestId, caller, model, request, context)
      log.routing = explanation
      const route = routes[0]!
      const providerKey =
        request.own.providerKey === undefined
          ? undefined
          : await openEnvelope(parts, request.own.providerKey, route.provider, caller, context)
      const admitted: AdmittedCall = {
        requestId: call.requestId,
        caller,
        model,
        request,
        facts,
        routes,
        providerKey,
        log,
        claim,
      }
      return new CompletionCall(parts, admitted, reply).run()
    })
  } finally {
    leave()
  }
}

async function admit(caller: Caller, context: LazyContext, { options }: EngineParts): Promise<void> {
  if (options.admit === undefined) return
  const overloaded = (cause: unknown): CompatError => {
    options.emit({ type: 'fault', where: 'admit', requestId: context.requestId, error: eventError(cause) })
    return new CompatError(
      'overloaded',
      'This service cannot take the request just now. Try again shortly.',
      { cause },
    )
  }
  let answer: Awaited<ReturnType<typeof options.admit>> | undefined
  try {
    answer = await within(options.clock, options.limits.storeMs, options.admit(caller.principal, context))
  } catch (cause) {
    throw overloaded(cause)
  }
  if (answer?.ok === true) return
  if (answer?.ok !== false)
    throw overloaded(new TypeError('admit() answered neither { ok: true } nor { ok: false }'))
  throw new CompatError('rate_limited', 'Too many requests. Try again when retry-after is over.', {
    headers: { 'retry-after': String(answer.retryAfterSeconds) },
  })
}

async function choose(
  parts: EngineParts,
  requestId: string,
  caller: Caller,
  model: AdmittedCall['model'],
  request: ParsedChatRequest,
  context: LazyContext,
) {
  const { options } = parts
  const routes = await askStore('providers', options, context, () => options.providers.routes(model, context))
  if (!Array.isArray(routes))
    throw faultyStore('providers', options, requestId, 'routes() did not return a list')
  return chooseRoutes(
    {
      routes,
      model,
      request,
      account: caller.principal.account,
      spreadKey: options.newId,
      promptTokens: () => estimatePrompt(request.forward, options.counter).atMost,
    },
    parts.health,
    parts.readPrices,
  )
}

async function openEnvelope(
  { options }: EngineParts,
  envelope: string,
  provider: string,
  caller: Caller,
  context: LazyContext,
): Promise<Secret> {
  const { envelopes } = options
  if (envelopes === undefined) {
    throw new CompatError('provider_not_enabled', "This service takes no provider keys of a caller's.", {
      param: 'provider_key',
    })
  }
  const binding = { provider, account: caller.principal.account }
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
