import { isProviderError } from '../../base/errors.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Principal } from '../../contracts/credentials.js'
import type { Endpoint } from '../../contracts/endpoint.js'
import type { ProviderCall, Route } from '../../contracts/providers.js'
import type { IncomingCall } from '../../contracts/reply.js'
import { authoriseModel, authoriseScope } from '../../engine/admission/authorise.js'
import { checkOperation, findModel } from '../../engine/admission/find-model.js'
import { openEnvelope } from '../../engine/admission/open-envelope.js'
import { checkParameters, servesParameters, unlistedParameters } from '../../engine/admission/parameters.js'
import type { LazyContext } from '../../engine/asking/lazy-context.js'
import { askStore } from '../../engine/asking/stores.js'
import type { Engine } from '../../engine/engine.js'
import { eventError } from '../../engine/events/event-error.js'
import { faultyStore } from '../../engine/failures/store-failures.js'
import type { MessagesRequest } from '../../protocol/messages-request.js'
import type { RequestBody } from '../../protocol/request-body.js'
import { readTraceContext, type TraceContext } from '../../protocol/trace-context.js'
import { isCount } from '../../protocol/usage.js'
import { estimatePrompt } from '../chat/prompt-estimate.js'
import { CountsUnderWay } from './counts-under-way.js'
import { messages } from './index.js'
import { countOpenApi } from './openapi.js'
import { nativeRequest } from './request/native-request.js'
import { type AskedMessages, readRequest, wholeChat } from './request/read-request.js'

/** The operation's name in events. */
const NAME = 'count-message-tokens'
/** The time that a provider has to count. After that, the count is an estimate. */
const COUNT_MS = 10_000

/**
 * `POST /messages/count_tokens`. It costs nothing. It passes the same checks as a call, but counts towards no limit and
 * holds nothing. So no provider is asked with the host's key for a caller who has limits or no credit.
 */
export function countEndpoint(engine: Engine): Endpoint {
  const underWay = new CountsUnderWay()
  return {
    method: 'POST',
    path: '/messages/count_tokens',
    ...(messages.errors && { errors: messages.errors }),
    openapi: countOpenApi,
    answer: (call, writer) =>
      engine.answer(
        NAME,
        call,
        writer,
        (context, { principal }) =>
          countTokens({ memory: engine.memory, options: engine.options, underWay }, call, context, principal),
        messages,
      ),
  }
}

interface Parts extends Pick<Engine, 'memory' | 'options'> {
  readonly underWay: CountsUnderWay
}

async function countTokens(
  parts: Parts,
  call: IncomingCall,
  context: LazyContext,
  principal: Principal,
): Promise<string> {
  authoriseScope(principal, messages)
  parts.memory.checkRoom()
  const body = await call.readBody(principal.account)
  const memory = parts.memory.open(principal.account)
  try {
    memory.takeRequest(body.bytes)
    return await countBody(parts, call, body, context, principal)
  } finally {
    memory.end()
  }
}

async function countBody(
  parts: Parts,
  call: IncomingCall,
  body: RequestBody,
  context: LazyContext,
  principal: Principal,
): Promise<string> {
  const { options } = parts
  const asked = readRequest(body.value, call.headers, false)
  const model = await findModel(asked.model, context, options)
  checkOperation(messages, model)
  authoriseModel(principal, model.id, asked.own)
  checkParameters(messages, asked, model)
  const routes = await askStore('providers', options, context, () => options.providers.routes(model, context))
  if (!Array.isArray(routes)) {
    throw faultyStore('providers', options, context.requestId, 'routes() did not return a list')
  }
  const serving = routes.filter((route: Route) => servesParameters(asked, model, route))
  if (serving.length === 0 && asked.unlisted.length > 0) throw unlistedParameters(asked, model)
  const route = serving.find((found) => mayCount(found, asked))
  const trace = options.traceContext === 'forward' ? readTraceContext(call.headers) : undefined
  const counted =
    route === undefined ? undefined : await askFreely(parts, route, asked, model, context, principal, trace)
  if (counted !== undefined) return JSON.stringify({ input_tokens: counted })
  // Not the upper bound of `neverOverdraw`, which says little about the tokens of a text.
  const estimate = estimatePrompt(wholeChat(asked), model, { ...options, neverOverdraw: false })
  return JSON.stringify({ input_tokens: estimate.atMost(serving[0]?.adapter.tokenFactor), estimated: true })
}

/** Whether a route may be asked to count: with the host's key, or with the caller's own if the request brings one. */
function mayCount(route: Route, { own }: AskedMessages): boolean {
  const { adapter, byok = 'no', enabled, provider } = route
  if (enabled === false || adapter.countMessageTokens === undefined) return false
  if (own.providerKey !== undefined) {
    return provider === own.provider && byok !== 'no' && adapter.takesKeys === true
  }
  const { ignore, only } = own.routing ?? {}
  if (ignore?.includes(provider) === true || only?.includes(provider) === false) return false
  return byok !== 'only'
}

/** Asks a provider, unless the caller makes too many free requests. Returns undefined if there is no count. */
async function askFreely(
  { options, underWay }: Parts,
  route: Route,
  asked: AskedMessages,
  model: Model,
  context: LazyContext,
  principal: Principal,
  trace: TraceContext | undefined,
): Promise<number | undefined> {
  const onHostsKey = asked.own.providerKey === undefined
  if (onHostsKey && !(await hasCredit(options, principal, context))) return undefined
  const end = underWay.begin(principal.account)
  if (end === undefined) return undefined
  try {
    return await askProvider(options, route, asked, model, context, principal, trace)
  } finally {
    end()
  }
}

/** Whether a caller without limits has credit. If the ledger does not answer, the caller may have none. */
async function hasCredit(
  options: Engine['options'],
  { account, limits }: Principal,
  context: LazyContext,
): Promise<boolean> {
  if (limits !== undefined) return false
  try {
    const balance = await askStore('ledger', options, context, () => options.ledger.balance(account, context))
    return balance !== undefined && balance.available > 0n
  } catch {
    // The fault was reported to the host, and an estimate needs no ledger.
    return false
  }
}

/** Returns undefined if the provider does not count, for whatever reason. */
async function askProvider(
  options: Engine['options'],
  route: Route,
  asked: AskedMessages,
  model: Model,
  context: LazyContext,
  { account }: Principal,
  trace: TraceContext | undefined,
): Promise<number | undefined> {
  const { clock, sizes, timeouts } = options
  const { providerKey } = asked.own
  const binding = { provider: route.provider, account }
  const auth: ProviderCall['auth'] =
    providerKey === undefined
      ? { kind: 'host', secret: route.secret || undefined }
      : { kind: 'byok', secret: await openEnvelope(providerKey, binding, context, options) }
  const tooLate = new AbortController()
  const cancel = clock.after(COUNT_MS, () => tooLate.abort())
  let prompt: unknown
  const request: ProviderCall<MessagesRequest> = {
    request: nativeRequest(asked, model, route, undefined, auth.kind === 'byok'),
    stream: false,
    auth,
    timeouts,
    sizes,
    signal: AbortSignal.any([context.signal, tooLate.signal]),
    requestId: context.requestId,
    trace,
  }
  try {
    await route.adapter.countMessageTokens!(request, (events) => {
      for (const event of events) if (event.type === 'usage') prompt = event.usage.prompt
    })
  } catch (error) {
    if (!isProviderError(error) && !request.signal.aborted) {
      options.emit({
        type: 'fault',
        where: 'count tokens',
        requestId: context.requestId,
        error: eventError(error),
      })
    }
    return undefined
  } finally {
    cancel()
  }
  return isCount(prompt) ? prompt : undefined
}
