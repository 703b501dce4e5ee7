import type { Model } from '../../contracts/catalogue.js'
import type { InputEstimate, Plan, PlanOptions, Reply, ReplyParts } from '../../contracts/operation.js'
import type { ProviderRequest, Route } from '../../contracts/providers.js'
import type { ReasoningName } from '../../contracts/reasoning-name.js'
import { isOutputBound, type OutputBounds, outputBounds } from './output-bounds.js'
import { estimatePrompt, predictedTokens, withoutRequest } from './prompt-estimate.js'
import type { ParsedChatRequest } from './read-request.js'
import { ChatReply } from './reply/chat-reply.js'
import { routeParameters, upstreamRequest } from './route-request.js'

const OUTPUT_FIELDS = ['max_completion_tokens', 'max_tokens'] as const

/** The plan of one chat completion with one model. */
export class ChatPlan implements Plan {
  readonly choices: number
  readonly outputTokens: number
  private readonly bounds: OutputBounds
  /** The tokens of a predicted output, for each choice. */
  private readonly predicted: number
  private estimate: InputEstimate | undefined

  constructor(
    protected asked: ParsedChatRequest,
    private readonly model: Model,
    private readonly options: PlanOptions,
    private readonly reasoningName: ReasoningName,
  ) {
    const { forward, n } = asked
    this.bounds = outputBounds(forward, model, options.limits, options.neverOverdraw)
    this.predicted = predictedTokens(forward, options)
    this.choices = n
    this.outputTokens = (this.bounds.tokens + this.bounds.thinking + this.predicted) * n
  }

  get input(): InputEstimate {
    this.estimate ??= estimatePrompt(this.asked.forward, this.model, this.options, this.joinedTokens)
    return this.estimate
  }

  shortened(outputTokens: number): string | undefined {
    const { asked, bounds, predicted } = this
    const each = Math.floor(outputTokens / asked.n) - predicted
    // A budget for thinking is less than the output, so it shrinks with it.
    const half = bounds.thinking === 0 ? each : Math.floor((each + 1) / 2)
    const tokens = Math.max(each - bounds.thinking, half)
    if (tokens < 1) return undefined
    return `${this.boundName}: ${tokens}`
  }

  /** The most tokens that parts add which the chat has as one. */
  protected get joinedTokens(): number {
    return 0
  }

  /** The field that limits the output, as the client wrote it. */
  protected get boundName(): string {
    const { forward } = this.asked
    return OUTPUT_FIELDS.filter((name) => isOutputBound(forward[name])).join(' and ') || 'max_tokens'
  }

  requestFor(route: Route, onCallersKey: boolean): ProviderRequest {
    const { asked, bounds, model } = this
    return upstreamRequest(routeParameters(asked, model, route, onCallersKey), model, route, bounds)
  }

  forget(): void {
    const { forward, ...rest } = this.asked
    this.asked = { ...rest, forward: { model: forward.model, messages: [] } }
    if (this.estimate !== undefined && this.options.neverOverdraw) {
      this.estimate = withoutRequest(this.estimate)
    }
  }

  reply(parts: ReplyParts): Reply {
    const { reasoningName } = this
    const { model, stream, n } = this.asked
    return new ChatReply(parts, { model, stream, n, reasoningName })
  }
}
