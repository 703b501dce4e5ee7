import type { Model } from '../../contracts/catalogue.js'
import type { Route } from '../../contracts/providers.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { isOutputBound } from '../charging/quote.js'

const BOUNDS = ['max_completion_tokens', 'max_tokens'] as const

/** The request in the provider's name of the model, its output clamped where the hold must not be exceeded. */
export function upstreamRequest(
  forward: ChatRequest,
  model: Model,
  route: Route,
  maxOutputTokens: number | undefined,
): ChatRequest {
  // A spread of a client's object, of which each may have another shape, costs a multiple.
  const request: ChatRequest = Object.assign({}, forward, { model: route.upstreamModel })
  if (maxOutputTokens === undefined) return request
  const named = BOUNDS.filter((field) => forward[field] != null)
  for (const field of named.length > 0 ? named : [boundOf(model, route)]) {
    const asked = forward[field]
    request[field] = isOutputBound(asked) ? Math.min(asked, maxOutputTokens) : maxOutputTokens
  }
  return request
}

/** The bound that a route takes: some models refuse `max_tokens`, some servers know nothing else. */
function boundOf(model: Model, { adapter, supportedParameters }: Route): (typeof BOUNDS)[number] {
  const supported = supportedParameters ?? model.supportedParameters
  return BOUNDS.find((field) => supported?.includes(field)) ?? adapter.outputBound ?? 'max_tokens'
}
