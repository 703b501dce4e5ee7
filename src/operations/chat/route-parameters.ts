import type { Model } from '../../contracts/catalogue.js'
import type { Route } from '../../contracts/providers.js'
import type { ChatMessage, ChatRequest } from '../../protocol/chat-request.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { isNeutral } from '../../protocol/request-fields/known-fields.js'
import { pricesCacheWrites, withoutMarks } from './cache-marks.js'
import type { ParsedChatRequest } from './read-request.js'

/**
 * Returns the request with the parameters that a route accepts. `reasoning` and `reasoning_effort` get the name in its
 * list. Parameters that are not in its list and have no effect are removed, and so are prompt cache marks if nobody
 * would pay for the cache write.
 */
export function routeParameters(
  { forward, marksCache }: Pick<ParsedChatRequest, 'forward' | 'marksCache'>,
  model: Model,
  route: Route,
  onCallersKey: boolean,
): ChatRequest {
  const supported = route.supportedParameters ?? model.supportedParameters
  const listed = supported === undefined ? forward : withListed(forward, supported)
  const paysForWrites = onCallersKey || pricesCacheWrites(route.prices ?? model.prices)
  return marksCache && !paysForWrites ? withoutCacheMarks(listed) : listed
}

const KEPT = new Set(['model', 'messages', 'stream', 'user'])

function withListed(forward: ChatRequest, supported: readonly string[]): ChatRequest {
  const left: JsonObject = {}
  let isChanged = false
  for (const field of Object.keys(forward)) {
    if (KEPT.has(field) || supported.includes(field) || !isNeutral(field, forward[field])) {
      left[field] = forward[field]
    } else isChanged = true
  }
  const renamed = renameReasoning(left, supported)
  return renamed || isChanged ? (left as ChatRequest) : forward
}

/** Returns whether anything was renamed. A budget in tokens is not an effort, and keeps the client's name. */
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

/** Removes the marks of the request, its messages, their parts and its tools. */
function withoutCacheMarks({ cache_control: _, ...request }: ChatRequest): ChatRequest {
  return {
    ...request,
    messages: withoutMarks(request.messages) as ChatMessage[],
    ...(Array.isArray(request.tools) && { tools: withoutMarks(request.tools) }),
  } as ChatRequest
}
