import { isProviderError } from '../../base/errors.js'
import type { Principal } from '../../contracts/credentials.js'
import type { Endpoint } from '../../contracts/endpoint.js'
import type { Asked, Plan, RoutedCount, UnsentCall } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import type { IncomingCall } from '../../contracts/reply.js'
import type { Admitted } from '../../engine/admission/admit.js'
import { openEnvelope } from '../../engine/admission/open-envelope.js'
import { servesParameters, unlistedParameters } from '../../engine/admission/parameters.js'
import type { LazyContext } from '../../engine/asking/lazy-context.js'
import { askStore } from '../../engine/asking/stores.js'
import type { Engine } from '../../engine/engine.js'
import { eventError } from '../../engine/events/event-error.js'
import { findRoutes } from '../../engine/routing/route-choice.js'
import { readTraceContext } from '../../protocol/trace-context.js'
import { isCount } from '../../protocol/usage.js'
import { jsonBytes, type WireBytes } from '../../protocol/wire-bytes.js'
import { CountsUnderWay } from './counts-under-way.js'
import { messages } from './index.js'
import { countOpenApi } from './openapi.js'
import { MessagesPlan } from './plan.js'
import { type AskedMessages, readRequest } from './request/read-request.js'

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
      engine.count(
        {
          name: NAME,
          operation: messages,
          read: ({ value }, headers) => readRequest(value, headers, false),
          body: (admitted, context) =>
            countTokens({ options: engine.options, underWay, call, context, admitted }),
        },
        call,
        writer,
      ),
  }
}

/** One count, with everything that its steps need. */
interface Counting {
  readonly options: Engine['options']
  readonly underWay: CountsUnderWay
  readonly call: IncomingCall
  readonly context: LazyContext
  readonly admitted: Admitted<AskedMessages>
}

async function countTokens(counting: Counting): Promise<WireBytes> {
  const { admitted, context, options } = counting
  const { model, request } = admitted
  const { asked } = request
  const routes = await findRoutes(model, context, options)
  const serving = routes.filter((route) => servesParameters(asked, model, route))
  if (serving.length === 0 && asked.unlisted.length > 0) throw unlistedParameters(asked, model)
  // Not the upper bound of `neverOverdraw`, which says little about the tokens of a text.
  const plan: Plan = new MessagesPlan(asked, model, { ...options, neverOverdraw: false })
  const found = firstCount(serving, plan, asked)
  const counted = found === undefined ? undefined : await askFreely(counting, found)
  if (counted !== undefined) return jsonBytes({ input_tokens: counted })
  const tokens = plan.input.atMost(serving[0]?.adapter.tokenFactor)
  return jsonBytes({ input_tokens: tokens, estimated: true })
}

interface FoundCount {
  readonly route: Route
  readonly count: RoutedCount
}

/** Returns the first route that counts and may be asked. */
function firstCount(routes: readonly Route[], plan: Plan, asked: Asked): FoundCount | undefined {
  for (const route of routes) {
    const count = mayCount(route, asked)
      ? plan.count?.(route, asked.own.providerKey !== undefined)
      : undefined
    if (count !== undefined) return { route, count }
  }
  return undefined
}

/** Whether a route may be asked to count: with the host's key, or with the caller's own if the request brings one. */
function mayCount({ adapter, byok = 'no', enabled, provider }: Route, { own }: Asked): boolean {
  if (enabled === false) return false
  if (own.providerKey !== undefined) {
    return provider === own.provider && byok !== 'no' && adapter.takesKeys === true
  }
  const { ignore, only } = own.routing ?? {}
  if (ignore?.includes(provider) === true || only?.includes(provider) === false) return false
  return byok !== 'only'
}

/** Asks a provider, unless the caller makes too many free requests. Returns undefined if there is no count. */
async function askFreely(counting: Counting, found: FoundCount): Promise<number | undefined> {
  const { admitted, context, options, underWay } = counting
  const { principal } = admitted.caller
  const onHostsKey = admitted.request.asked.own.providerKey === undefined
  if (onHostsKey && !(await hasCredit(options, principal, context))) return undefined
  const end = underWay.begin(principal.account)
  if (end === undefined) return undefined
  try {
    return await askProvider(counting, found)
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
  { admitted, call, context, options }: Counting,
  { count, route }: FoundCount,
): Promise<number | undefined> {
  const { clock, sizes, timeouts } = options
  const { providerKey } = admitted.request.asked.own
  const binding = { provider: route.provider, account: admitted.caller.principal.account }
  const auth: UnsentCall['auth'] =
    providerKey === undefined
      ? { kind: 'host', secret: route.secret || undefined }
      : { kind: 'byok', secret: await openEnvelope(providerKey, binding, context, options) }
  const tooLate = new AbortController()
  const cancel = clock.after(COUNT_MS, () => tooLate.abort())
  let prompt: unknown
  const asking: UnsentCall = {
    stream: false,
    auth,
    timeouts,
    sizes,
    signal: AbortSignal.any([context.signal, tooLate.signal]),
    requestId: context.requestId,
    trace: options.traceContext === 'forward' ? readTraceContext(call) : undefined,
  }
  try {
    await count.run(asking, (events) => {
      for (const event of events) if (event.type === 'usage') prompt = event.usage.prompt
    })
  } catch (error) {
    if (!isProviderError(error) && !asking.signal.aborted) {
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
