import type { Model } from '../../contracts/catalogue.js'
import type { InputEstimate, Plan, PlanOptions, Reply, ReplyParts } from '../../contracts/operation.js'
import type { ProviderRequest, Route } from '../../contracts/providers.js'
import type { ReasoningName, ReplyReader } from '../../contracts/reasoning-name.js'
import { type OutputBounds, outputBounds } from './output-bounds.js'
import { estimatePrompt, predictedTokens } from './prompt-estimate.js'
import type { ParsedChatRequest } from './read-request.js'
import { ChatReply } from './reply/chat-reply.js'
import { reasoningNameFor } from './reply/reasoning-name.js'
import { routeParameters } from './route-parameters.js'
import { upstreamRequest } from './upstream-request.js'

/** The plan of one chat completion with one model. */
export class ChatPlan implements Plan {
  readonly outputTokens: number
  private readonly bounds: OutputBounds
  private readonly reasoningName: ReasoningName
  private estimate: InputEstimate | undefined

  constructor(
    private readonly asked: ParsedChatRequest,
    private readonly model: Model,
    private readonly options: PlanOptions,
    reader: ReplyReader,
  ) {
    this.reasoningName = reasoningNameFor(options.reasoningName, reader)
    const { forward, n } = asked
    this.bounds = outputBounds(forward, model, options.limits, options.neverOverdraw)
    this.outputTokens = (this.bounds.tokens + this.bounds.thinking + predictedTokens(forward, options)) * n
  }

  get input(): InputEstimate {
    this.estimate ??= estimatePrompt(this.asked.forward, this.model, this.options)
    return this.estimate
  }

  get choices(): number {
    return this.asked.n
  }

  requestFor(route: Route, onCallersKey: boolean): ProviderRequest {
    const { asked, bounds, model } = this
    return upstreamRequest(routeParameters(asked, model, route, onCallersKey), model, route, bounds)
  }

  reply(parts: ReplyParts): Reply {
    const { reasoningName } = this
    const { model, stream, n } = this.asked
    return new ChatReply(parts, { model, stream, n, reasoningName })
  }
}
