import type { Model } from '../../contracts/catalogue.js'
import type { Route } from '../../contracts/providers.js'
import { namedSettings, reasoningField, withoutField } from '../../conversation/chat-fields.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import type { ConversationSettings, OutputBound, Reasoning, Tool } from '../../conversation/settings.js'
import { unmarked } from '../../conversation/turns.js'
import { type OutputBounds, sentLimit } from './output-bounds.js'
import { boundField, isSent, supportedOn, within } from './route-request.js'

interface Routing {
  readonly model: Model
  readonly route: Route
  readonly bounds: OutputBounds
}

/**
 * Returns a conversation for a route, as `routeParameters` and `upstreamRequest` do with a chat: with the settings that
 * it accepts and the provider's name of the model, for no more output than the hold covers.
 */
export function conversationOn(
  { settings: given, turns }: ConversationRequest,
  routing: Routing,
): ConversationRequest {
  const { model, route } = routing
  const supported = supportedOn(route, model)
  const listed = supported === undefined ? given : withListed(given, supported)
  const settings = { ...listed, bound: boundOn(listed.bound, routing) }
  return { model: route.upstreamModel, turns, settings }
}

/** Returns the output limit that a route is sent, by the name that it takes. */
export function boundOn(
  asked: OutputBound | undefined,
  { bounds, model, route }: Routing,
): OutputBound | undefined {
  const tokens = sentLimit(bounds, model, route)
  if (tokens === undefined) return asked
  const { taken, usual } = boundField(model, route)
  if (taken !== undefined || asked === undefined) return { tokens, param: usual }
  return { tokens: within(asked.tokens, tokens, route), param: asked.param }
}

function withListed(given: ConversationSettings, supported: readonly string[]): ConversationSettings {
  let settings = given
  for (const [, field, value] of namedSettings(given)) {
    if (!isSent(field, value, supported)) settings = withoutField(settings, field)
  }
  const { reasoning } = settings
  if (reasoning === undefined) return settings
  return { ...settings, reasoning: asListed(reasoning, supported) }
}

/**
 * Returns the reasoning setting under the name that a route lists. A budget keeps its name, because no effort can express
 * it.
 */
function asListed(reasoning: Reasoning, supported: readonly string[]): Reasoning {
  const takesObject = supported.includes('reasoning')
  if (takesObject === supported.includes('reasoning_effort') || reasoning.effort === undefined)
    return reasoning
  const { effort } = reasoning
  const isObject = reasoningField(reasoning) === 'reasoning'
  if (isObject === takesObject) return reasoning
  return { effort, param: takesObject ? 'reasoning.effort' : 'reasoning_effort' }
}

/** Returns a conversation without its prompt cache marks. */
export function withoutCacheMarks({ model, settings, turns }: ConversationRequest): ConversationRequest {
  const tools = settings.tools.map(withoutMark)
  return { model, turns: unmarked(turns), settings: { ...settings, tools, cache: undefined } }
}

function withoutMark(tool: Tool): Tool {
  if (tool.kind !== 'provider') return { ...tool, cache: false }
  const { cache_control: _, ...definition } = tool.definition
  return { ...tool, definition }
}
