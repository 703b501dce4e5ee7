import type { Model, Prices } from '../../contracts/catalogue.js'
import type { Route } from '../../contracts/providers.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { isNeutral } from '../../protocol/request-fields/known-fields.js'
import { isOutputBound, type OutputBounds, sentLimit } from './output-bounds.js'
import type { ParsedChatRequest } from './read-request.js'

/**
 * Returns the request with the parameters that a route accepts. `reasoning` and `reasoning_effort` get the name in the
 * route's list. Removes unlisted parameters without effect. Removes prompt cache marks if nobody would pay for the
 * cache write.
 */
export function routeParameters(
  { forward, marksCache }: Pick<ParsedChatRequest, 'forward' | 'marksCache'>,
  model: Model,
  route: Route,
  onCallersKey: boolean,
): ChatRequest {
  const supported = supportedOn(route, model)
  const listed = supported === undefined ? forward : withListed(forward, supported)
  return !marksCache || keepsMarks(route, model, onCallersKey) ? listed : withoutCacheMarks(listed)
}

/** Returns the fields that a route accepts. Undefined if it may get any. */
export function supportedOn(route: Route, model: Model): readonly string[] | undefined {
  return route.supportedParameters ?? model.supportedParameters
}

/** Whether somebody pays for cache writes on a route. */
export function keepsMarks(route: Route, model: Model, onCallersKey: boolean): boolean {
  return onCallersKey || pricesCacheWrites(route.prices ?? model.prices)
}

const KEPT = new Set(['model', 'messages', 'stream', 'user'])

/** Whether a field is sent to a route with these parameters. One without effect is not unless it is listed. */
export function isSent(field: string, value: unknown, supported: readonly string[]): boolean {
  return KEPT.has(field) || supported.includes(field) || !isNeutral(field, value)
}

function withListed(forward: ChatRequest, supported: readonly string[]): ChatRequest {
  const left: ChatRequest = { model: forward.model, messages: forward.messages }
  let isChanged = false
  for (const field of Object.keys(forward)) {
    if (isSent(field, forward[field], supported)) left[field] = forward[field]
    else isChanged = true
  }
  const renamed = renameReasoning(left, supported)
  return renamed || isChanged ? left : forward
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
function withoutCacheMarks(marked: ChatRequest): ChatRequest {
  const { messages, tools } = marked
  const request: ChatRequest = Object.assign({}, marked, {
    messages: withoutMarks(messages),
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
type BoundField = (typeof BOUNDS)[number]

/** Returns the request with the provider's name of the model, and for no more output than the hold covers. */
export function upstreamRequest(
  forward: ChatRequest,
  model: Model,
  route: Route,
  bounds: OutputBounds,
): ChatRequest {
  // Spreading a client's object takes several times as long, because each may have a different shape.
  const request: ChatRequest = Object.assign({}, forward, { model: route.upstreamModel })
  const limit = sentLimit(bounds, model, route)
  if (limit !== undefined) setBound(request, model, route, limit)
  clampThinking(request, bounds.thinking)
  return request
}

/** Sets the output limit in the field that the route accepts. If that is unknown, uses the client's fields. */
function setBound(request: ChatRequest, model: Model, route: Route, tokens: number): void {
  const { taken, usual } = boundField(model, route)
  const named = BOUNDS.filter((field) => isOutputBound(request[field]))
  if (taken === undefined && named.length > 0) {
    for (const field of named) request[field] = within(request[field] as number, tokens, route)
    return
  }
  for (const field of BOUNDS) delete request[field]
  request[usual] = tokens
}

/**
 * Returns the field for the output limit that a route takes, if that is known, and the one to use if a client named
 * none.
 */
export function boundField(
  model: Model,
  route: Route,
): { readonly taken: BoundField | undefined; readonly usual: BoundField } {
  const supported = supportedOn(route, model)
  const listed = BOUNDS.filter((field) => supported?.includes(field))
  const taken = listed.length === 1 ? listed[0] : route.adapter.outputBound
  return { taken, usual: taken ?? listed[0] ?? 'max_tokens' }
}

/** Returns a client's output limit, which is at most this number of tokens and at least the smallest one of a route. */
export function within(asked: number, tokens: number, { adapter }: Route): number {
  return Math.max(Math.min(asked, tokens), adapter.leastOutputBound ?? 1)
}

const BUDGETS = [
  ['reasoning', 'max_tokens'],
  ['thinking', 'budget_tokens'],
  ['chat_template_kwargs', 'thinking_budget'],
] as const

function clampThinking(request: ChatRequest, most: number): void {
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
