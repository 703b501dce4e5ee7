import type { Model } from '../../contracts/catalogue.js'
import type { Route } from '../../contracts/providers.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { isOutputBound, type OutputBounds } from './output-bounds.js'

const BOUNDS = ['max_completion_tokens', 'max_tokens'] as const

/** Returns the request with the provider's name of the model, and for no more output than the hold covers. */
export function upstreamRequest(
  forward: ChatRequest,
  model: Model,
  route: Route,
  bounds: OutputBounds,
): ChatRequest {
  // Spreading a client's object takes several times as long, because each may have a different shape.
  const request: ChatRequest = Object.assign({}, forward, { model: route.upstreamModel })
  if (bounds.isSent) setBound(request, model, route, bounds.tokens)
  else if (route.adapter.needsBound === true) {
    // All that is on hold, because the API counts thinking in the output limit.
    const tokens = Math.min(bounds.tokens + bounds.thinking, model.maxOutputTokens ?? Infinity)
    setBound(request, model, route, tokens)
  }
  clampThinking(request, bounds.thinking)
  return request
}

/** Sets the output limit in the field that the route accepts. If that is unknown, uses the client's fields. */
function setBound(
  request: ChatRequest,
  model: Model,
  { adapter, supportedParameters }: Route,
  tokens: number,
): void {
  const supported = supportedParameters ?? model.supportedParameters
  const listed = BOUNDS.filter((field) => supported?.includes(field))
  const taken = listed.length === 1 ? listed[0] : adapter.outputBound
  const named = BOUNDS.filter((field) => isOutputBound(request[field]))
  if (taken === undefined && named.length > 0) {
    for (const field of named) request[field] = Math.min(request[field] as number, tokens)
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
