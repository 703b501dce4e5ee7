import type { Model, Prices } from '../../contracts/catalogue.js'
import type { ProviderRequest, Route } from '../../contracts/providers.js'
import type { Turn } from '../../conversation/conversation.js'
import { unmarked } from '../../conversation/turns.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { isNeutral } from '../../protocol/request-fields/known-fields.js'
import { isOutputBound, type OutputBounds, sentLimit } from './output-bounds.js'
import type { ParsedRequest } from './read-request.js'

/**
 * Returns the request with the parameters that a route accepts. `reasoning` and `reasoning_effort` get the name in the
 * route's list. Removes unlisted parameters without effect. Removes prompt cache marks if nobody would pay for the
 * cache write.
 */
export function routeParameters<Request extends ProviderRequest>(
  { forward, marksCache }: Pick<ParsedRequest<Request>, 'forward' | 'marksCache'>,
  model: Model,
  route: Route,
  onCallersKey: boolean,
): Request {
  const supported = route.supportedParameters ?? model.supportedParameters
  const listed = supported === undefined ? forward : withListed(forward, supported)
  if (!marksCache || onCallersKey || pricesCacheWrites(route.prices ?? model.prices)) return listed
  return withoutCacheMarks(listed)
}

const KEPT = new Set(['model', 'messages', 'turns', 'stream', 'user'])

function withListed<Request extends ProviderRequest>(
  forward: Request,
  supported: readonly string[],
): Request {
  const left: JsonObject = {}
  let isChanged = false
  for (const field of Object.keys(forward)) {
    if (KEPT.has(field) || supported.includes(field) || !isNeutral(field, forward[field])) {
      left[field] = forward[field]
    } else isChanged = true
  }
  const renamed = renameReasoning(left, supported)
  return renamed || isChanged ? (left as Request) : forward
}

/** Returns whether anything was renamed. A token budget is not an effort and keeps the client's name. */
function renameReasoning(request: JsonObject, supported: readonly string[]): boolean {
  const takesObject = supported.includes('reasoning')
  const takesEffort = supported.includes('reasoning_effort')
  if (takesObject === takesEffort) return false
  const { reasoning, reasoning_effort: effort } = request
  if (takesObject && effort !== undefined) {
    delete request.reasoning_effort
    request.reasoning = { effort, ...(isObject(reasoning) && reasoning) }
    return true
  }
  if (!takesEffort || !isObject(reasoning) || reasoning.max_tokens !== undefined) return false
  const asked = reasoning.enabled === false ? 'none' : (reasoning.effort ?? effort)
  if (typeof asked !== 'string') return false
  delete request.reasoning
  request.reasoning_effort = asked
  return true
}

/** Whether every price row has a price for cache writes. */
export function pricesCacheWrites(prices: Prices | undefined): boolean {
  if (prices === undefined) return false
  return [prices, ...(prices.tiers ?? [])].every(({ cacheWrite }) => cacheWrite !== undefined)
}

/** Removes the marks of the request, its messages, their parts and its tools. */
function withoutCacheMarks<Request extends ProviderRequest>(marked: Request): Request {
  const { messages, tools, turns } = marked
  const request: Request = Object.assign({}, marked, {
    ...(Array.isArray(messages) && { messages: withoutMarks(messages) }),
    ...(Array.isArray(turns) && { turns: unmarked(turns as readonly Turn[]) }),
    ...(Array.isArray(tools) && { tools: withoutMarks(tools) }),
  })
  delete request.cache_control
  return request
}

/** Removes the prompt cache marks of items, such as messages or tools, and of the parts of their content. */
export function withoutMarks(items: readonly unknown[]): unknown[] {
  return items.map((item) => {
    if (!isObject(item)) return item
    const { cache_control: _, ...unmarked } = item
    return Array.isArray(item.content) ? { ...unmarked, content: withoutMarks(item.content) } : unmarked
  })
}

const BOUNDS = ['max_completion_tokens', 'max_tokens'] as const

/** Returns the request with the provider's name of the model, and for no more output than the hold covers. */
export function upstreamRequest<Request extends ProviderRequest>(
  forward: Request,
  model: Model,
  route: Route,
  bounds: OutputBounds,
): Request {
  // Spreading a client's object takes several times as long, because each may have a different shape.
  const request: Request = Object.assign({}, forward, { model: route.upstreamModel })
  const limit = sentLimit(bounds, model, route)
  if (limit !== undefined) setBound(request, model, route, limit)
  clampThinking(request, bounds.thinking)
  return request
}

/** Sets the output limit in the field that the route accepts. If that is unknown, uses the client's fields. */
function setBound(
  request: ProviderRequest,
  model: Model,
  { adapter, supportedParameters }: Route,
  tokens: number,
): void {
  const supported = supportedParameters ?? model.supportedParameters
  const listed = BOUNDS.filter((field) => supported?.includes(field))
  const taken = listed.length === 1 ? listed[0] : adapter.outputBound
  const named = BOUNDS.filter((field) => isOutputBound(request[field]))
  if (taken === undefined && named.length > 0) {
    const least = adapter.leastOutputBound ?? 1
    for (const field of named) request[field] = Math.max(Math.min(request[field] as number, tokens), least)
    return
  }
  for (const field of BOUNDS) delete request[field]
  request[taken ?? listed[0] ?? 'max_tokens'] = tokens
}

const BUDGETS = [
  ['reasoning', 'max_tokens'],
  ['thinking', 'budget_tokens'],
  ['chat_template_kwargs', 'thinking_budget'],
] as const

function clampThinking(request: ProviderRequest, most: number): void {
  if (isOutputBound(request.thinking_budget))
    request.thinking_budget = Math.min(request.thinking_budget, most)
  for (const [field, member] of BUDGETS) {
    const settings = request[field]
    const budget = isObject(settings) ? settings[member] : undefined
    if (isOutputBound(budget) && budget > most) {
      request[field] = { ...(settings as JsonObject), [member]: most }
    }
  }
}
