import type { Model } from '../../contracts/catalogue.js'
import type { InputEstimate, OutputRange, Plan, PlanOptions, RoutedCall } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import type { ReasoningName } from '../../contracts/reasoning-name.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { ModelReply } from '../../replies/model-reply.js'
import { hasMethod } from '../../rules/adapter-methods.js'
import { contextLeft } from './context-left.js'
import { isOutputBound, leastHeld, RequestedOutput } from './output-bounds.js'
import { estimatePrompt, predictedTokens, withoutRequest } from './prompt-estimate.js'
import type { ParsedChatRequest } from './read-request.js'
import { ChatWriter } from './reply/chat-writer.js'
import { routeParameters, upstreamRequest } from './route-request.js'

const OUTPUT_FIELDS = ['max_completion_tokens', 'max_tokens'] as const

/** The plan of one chat completion with one model. */
export class ChatPlan implements Plan {
  readonly choices: number
  private readonly output: RequestedOutput
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
    this.output = new RequestedOutput(forward, model, options)
    this.predicted = predictedTokens(forward, options)
    this.choices = n
  }

  get input(): InputEstimate {
    this.estimate ??= estimatePrompt(this.asked.forward, this.model, this.options, this.joinedTokens)
    return this.estimate
  }

  outputOn(route: Route, input: InputEstimate): OutputRange {
    const { choices, model, options, output, predicted } = this
    const { forward } = this.asked
    const { least, most, usual } = output.rangeOn(route, (wanted) =>
      contextLeft(wanted, input, { request: () => forward, model, route, options }),
    )
    const all = (tokens: number): number => (tokens + output.thinking + predicted) * choices
    return { least: all(least), usual: all(usual), most: all(most), step: choices }
  }

  /** Returns the output limit of one choice that a hold covers. */
  private boundWithin(outputTokens: number): number {
    return Math.floor(outputTokens / this.choices) - this.output.thinking - this.predicted
  }

  chosenLimit(route: Route, outputTokens: number): number | undefined {
    return this.output.chosenFor(route, this.boundWithin(outputTokens))
  }

  shortened(route: Route, outputTokens: number): string | undefined {
    const { asked, output, predicted } = this
    const each = Math.floor(outputTokens / asked.n) - predicted
    // A thinking budget must be less than the output, so it shrinks with it.
    const half = output.thinking === 0 ? each : Math.floor((each + 1) / 2)
    const tokens = Math.max(each - output.thinking, half)
    if (tokens < leastHeld(route)) return undefined
    return `${this.boundName}: ${tokens}`
  }

  /** The most tokens added by parts that the chat joins into one. */
  protected get joinedTokens(): number {
    return 0
  }

  /** The field that limits the output, as the client named it. */
  protected get boundName(): string {
    const { forward } = this.asked
    return OUTPUT_FIELDS.filter((name) => isOutputBound(forward[name])).join(' and ') || 'max_tokens'
  }

  on(route: Route, onCallersKey: boolean): RoutedCall | undefined {
    const { adapter } = route
    if (!hasMethod(adapter, 'chat')) return undefined
    return {
      run: (call, outputTokens, take) => {
        const request = this.chatFor(route, onCallersKey, outputTokens)
        return adapter.chat(Object.assign(call, { request }), take)
      },
      reply: (parts) => {
        const { model, stream, n } = this.asked
        const { created, id } = parts
        const writer = new ChatWriter({ id, created, model }, this.reasoningName, stream)
        return new ModelReply(parts, { stream, n, splices: true }, writer)
      },
    }
  }

  /** Returns the chat for a route, with the provider's name of the model, and for no more output than the hold covers. */
  protected chatFor(route: Route, onCallersKey: boolean, outputTokens: number): ChatRequest {
    const { asked, model } = this
    const bounds = this.output.bounds(this.boundWithin(outputTokens), route)
    return upstreamRequest(routeParameters(asked, model, route, onCallersKey), model, route, bounds)
  }

  forget(): void {
    const { model } = this.asked.forward
    // A tenth of the time of spreads.
    this.asked = Object.assign({}, this.asked, { forward: { model, messages: [] } })
    if (this.estimate !== undefined && this.options.neverOverdraw) {
      this.estimate = withoutRequest(this.estimate)
    }
  }
}
