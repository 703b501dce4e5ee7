import type { Model } from '../../contracts/catalogue.js'
import type { PlanOptions, Reply, ReplyParts, RoutedCall } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import type { ReasoningName } from '../../contracts/reasoning-name.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { readChat } from '../../conversation/read-chat.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { ModelReply } from '../../replies/model-reply.js'
import { GenerationPlan } from './generation-plan.js'
import { isOutputBound, wantedByChat } from './output-bounds.js'
import { predictedTokens } from './prompt-estimate.js'
import type { ParsedChatRequest } from './read-request.js'
import { ChatWriter } from './reply/chat-writer.js'
import { routeParameters, upstreamRequest } from './route-request.js'
import { type Conversing, routedCall } from './routed-call.js'

const OUTPUT_FIELDS = ['max_completion_tokens', 'max_tokens'] as const

/** The plan of one chat completion with one model. */
export class ChatPlan extends GenerationPlan<ParsedChatRequest> implements Conversing<'chat'> {
  readonly api = 'chat'
  readonly omitsHints = false

  constructor(
    asked: ParsedChatRequest,
    model: Model,
    options: PlanOptions,
    private readonly reasoningName: ReasoningName,
  ) {
    const { forward } = asked
    super(asked, wantedByChat(forward), model, options, predictedTokens(forward, options))
  }

  on(route: Route, onCallersKey: boolean): RoutedCall | undefined {
    return routedCall(this, route, onCallersKey)
  }

  ownRequest(route: Route, onCallersKey: boolean, outputTokens: number): ChatRequest {
    const { asked, model } = this
    const bounds = this.boundsOn(route, outputTokens)
    return upstreamRequest(routeParameters(asked, model, route, onCallersKey), model, route, bounds)
  }

  conversation(route: Route, onCallersKey: boolean, outputTokens: number): ConversationRequest {
    return readChat(this.ownRequest(route, onCallersKey, outputTokens), route.adapter.parameters)
  }

  reply(parts: ReplyParts): Reply {
    const { model, stream, n } = this.asked
    const { created, id } = parts
    const writer = new ChatWriter({ id, created, model }, this.reasoningName, stream)
    return new ModelReply(parts, { stream, n, splices: true }, writer)
  }

  protected get boundName(): string {
    const { forward } = this.asked
    return OUTPUT_FIELDS.filter((name) => isOutputBound(forward[name])).join(' and ') || 'max_tokens'
  }

  protected chat(): ChatRequest {
    return this.asked.forward
  }

  protected emptied(): Pick<ParsedChatRequest, 'forward'> {
    return { forward: { model: this.asked.model, messages: [] } }
  }
}
