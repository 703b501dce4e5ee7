import type { Model } from '../../../contracts/catalogue.js'
import type { Route } from '../../../contracts/providers.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import { RESPONSES_FORMAT, type ResponsesRequest } from '../../../protocol/responses-request.js'
import type { OutputBounds } from '../../chat/output-bounds.js'
import { boundOn } from '../../chat/route-conversation.js'
import { isSent, supportedOn } from '../../chat/route-request.js'
import { type AskedResponse, ENCRYPTED_REASONING, LOGPROBS } from './read-request.js'
import { toFlatChoice } from './read-tools.js'
import type { SealedThoughts } from './sealed-reasoning.js'

const INCLUDED = [ENCRYPTED_REASONING, LOGPROBS]

/** What the route of a request decides. */
interface OnRoute {
  readonly route: Route
  readonly model: Model
  readonly bounds: OutputBounds
}

/** Returns the request for a provider that has the Responses API itself, with the client's own items. */
export function toResponsesRequest(response: AskedResponse, onRoute: OnRoute): ResponsesRequest {
  const { route } = onRoute
  const { flatTools, forward, include, items, settings, thoughts } = response
  const { instructions, reasoning, text, toolChoice } = settings
  const request: ResponsesRequest = {
    model: route.upstreamModel,
    input: items.flatMap((item) => toItem(item, route.provider, thoughts)),
  }
  if (instructions !== undefined) request.instructions = instructions
  const supported = supportedOn(route, onRoute.model)
  for (const [field, value] of Object.entries(settings.parameters)) {
    if (field !== 'stream' && (supported === undefined || isSent(field, value, supported)))
      request[field] = value
  }
  const bound = boundOn(forward.settings.bound, onRoute)
  if (bound !== undefined) request.max_output_tokens = bound.tokens
  if (flatTools.length > 0) request.tools = flatTools
  if (toolChoice !== undefined) request.tool_choice = toFlatChoice(toolChoice)
  if (Object.keys(text).length > 0) request.text = text
  if (Object.keys(reasoning).length > 0) request.reasoning = reasoning
  const included = INCLUDED.filter((name) => include.has(name))
  if (included.length > 0) request.include = included
  return request
}

/**
 * Returns an item for a provider. Removes ids, which are this service's own and mean nothing to the provider. Sends
 * reasoning only to the provider that it came from.
 */
function toItem(item: JsonObject, provider: string, thoughts: SealedThoughts): JsonObject[] {
  if (item.type !== 'reasoning') {
    const { id: _, ...sent } = item
    return [sent]
  }
  const opened = thoughts.open(item.encrypted_content)
  if (opened?.provider !== provider) return []
  const details = opened.details.filter(({ data, format }) => format === RESPONSES_FORMAT && isText(data))
  return details.map(({ data, id }, position) => ({
    type: 'reasoning',
    ...(isText(id) && { id }),
    // One item may hold several thoughts. Their summaries cannot be separated.
    summary: position === 0 && Array.isArray(item.summary) ? item.summary.filter(isObject) : [],
    encrypted_content: data,
  }))
}
