import type { Model } from '../../../contracts/catalogue.js'
import type { Route } from '../../../contracts/providers.js'
import { Recipient } from '../../../conversation/thoughts.js'
import { isObject, type JsonObject } from '../../../protocol/json-values.js'
import type { MessagesRequest } from '../../../protocol/messages-request.js'
import { keepsMarks, supportedOn, withoutMarks } from '../../chat/route-request.js'
import { readSealed } from '../reasoning/thoughts.js'
import { isThinking, signatureOf } from './blocks.js'
import { type ReplaceMark, replaceMarks } from './nested-marks.js'

/** The parts of a request that this file reads. */
interface Asked {
  readonly native: MessagesRequest
  readonly marksCache: boolean
}

/** The output limits of a call. Absent if its tokens are only counted. */
interface Bounds {
  readonly tokens: number
  readonly thinking: number
}

const REASONING = ['reasoning', 'reasoning_effort', 'thinking']

/** Whether a route may be sent a reasoning setting that only lets the model decide for itself. */
export function namesReasoning(model: Model, route: Route): boolean {
  const supported = supportedOn(route, model)
  return supported === undefined || REASONING.some((name) => supported.includes(name))
}

/**
 * Returns the request for a route of this API: as it came, but with the provider's name of the model, for no more
 * output than the hold covers, and without thinking of other providers. Removes prompt cache marks if nobody would pay
 * for the cache write.
 */
export function nativeRequest(
  { marksCache, native }: Asked,
  model: Model,
  route: Route,
  bounds: Bounds | undefined,
  onCallersKey: boolean,
): MessagesRequest {
  const recipient = new Recipient(route.provider, route.upstreamModel)
  let request: MessagesRequest = Object.assign({}, native, {
    model: route.upstreamModel,
    messages: withOwnThinking(native.messages, recipient),
  })
  if (bounds !== undefined) {
    const { thinking } = native
    request.max_tokens = bounds.tokens
    if (isObject(thinking) && Number(thinking.budget_tokens) > bounds.thinking) {
      request.thinking = { ...thinking, budget_tokens: bounds.thinking }
    }
  }
  if (!namesReasoning(model, route)) request = withoutHints(request)
  if (!marksCache || keepsMarks(route, model, onCallersKey)) return request
  return withoutAnyMarks(request)
}

/** Removes the settings that let a model decide about reasoning itself. */
function withoutHints(request: MessagesRequest): MessagesRequest {
  const { output_config: output, thinking, ...rest } = request
  const { effort: _, ...config } = isObject(output) ? output : {}
  const left: MessagesRequest = rest
  if (isObject(thinking) && thinking.type === 'enabled') left.thinking = thinking
  if (Object.keys(config).length > 0) left.output_config = config
  return left
}

/** Returns the same list if it has no thinking of others. */
function withOwnThinking(
  messages: MessagesRequest['messages'],
  recipient: Recipient,
): MessagesRequest['messages'] {
  if (!messages.some(({ content }) => Array.isArray(content) && content.some(isThinking))) return messages
  return messages.flatMap((message): readonly JsonObject[] => {
    const { content } = message
    if (!Array.isArray(content) || !content.some(isThinking)) return [message]
    const own = content.flatMap((block: JsonObject) =>
      isThinking(block) ? ownThinking(block, recipient) : block,
    )
    // The API accepts no message without content.
    return own.length === 0 ? [] : [{ ...message, content: own }]
  })
}

function ownThinking(block: JsonObject, recipient: Recipient): JsonObject[] {
  const given = signatureOf(block)
  const sealed = readSealed(given)
  // Reasoning from a chat provider cannot be expressed in this API.
  if (sealed?.signature === undefined || !recipient.made(sealed)) return []
  const { signature } = sealed
  if (signature === given) return [block]
  return [{ ...block, [block.type === 'thinking' ? 'signature' : 'data']: signature }]
}

/** Removes the marks of the request, its system prompt, its tools and its blocks. */
function withoutAnyMarks({ cache_control: _, ...request }: MessagesRequest): MessagesRequest {
  const { messages, system, tools } = request
  return {
    ...request,
    model: request.model,
    messages: replaceMarks(messages, '', removed) as MessagesRequest['messages'],
    ...(Array.isArray(system) && { system: replaceMarks(system, '', removed) }),
    ...(Array.isArray(tools) && { tools: withoutMarks(tools) }),
  }
}

const removed: ReplaceMark = () => undefined
