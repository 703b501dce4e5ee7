import type { Model } from '../../contracts/catalogue.js'
import type { InputEstimate, OutputRange, Plan, PlanOptions, RoutedCall } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { contextLeft } from './context-left.js'
import { leastHeld, type OutputBounds, RequestedOutput, type WantedOutput } from './output-bounds.js'
import { estimatePrompt, withoutRequest } from './prompt-estimate.js'

/** The plan of one request for text of a model. */
export abstract class GenerationPlan<Asked extends object> implements Plan {
  readonly choices: number
  private readonly output: RequestedOutput
  private estimate: InputEstimate | undefined

  constructor(
    protected asked: Asked,
    wanted: WantedOutput,
    protected readonly model: Model,
    private readonly options: PlanOptions,
    /** The tokens of a predicted output, for each choice. */
    private readonly predicted = 0,
  ) {
    this.output = new RequestedOutput(wanted, model, options)
    this.choices = wanted.choices
  }

  get input(): InputEstimate {
    this.estimate ??= estimatePrompt(this.chat(), this.model, this.options, this.joinedTokens)
    return this.estimate
  }

  outputOn(route: Route, input: InputEstimate): OutputRange {
    const { choices, model, options, output, predicted } = this
    const { least, most, usual } = output.rangeOn(route, (wanted) =>
      contextLeft(wanted, input, { request: () => this.chat(), model, route, options }),
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
    const { choices, output, predicted } = this
    const each = Math.floor(outputTokens / choices) - predicted
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
  protected abstract get boundName(): string

  /** Returns the whole request as a chat, to estimate its input. */
  protected abstract chat(): ChatRequest

  abstract on(route: Route, onCallersKey: boolean): RoutedCall | undefined

  /** Returns the output limits of a route's request, which the hold covers. */
  protected boundsOn(route: Route, outputTokens: number): OutputBounds {
    return this.output.bounds(this.boundWithin(outputTokens), route)
  }

  /** Releases the request. See {@link Plan.forget}. */
  forget(): void {
    // A tenth of the time of spreads.
    this.asked = Object.assign({}, this.asked, this.emptied())
    if (this.estimate !== undefined && this.options.neverOverdraw) {
      this.estimate = withoutRequest(this.estimate)
    }
  }

  /** Returns the parts of the request that are large, without their content. */
  protected abstract emptied(): Partial<Asked>
}
