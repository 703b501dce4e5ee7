import type { Model } from '../../contracts/catalogue.js'
import type { ChargingSettings, Sizes } from '../../contracts/limits.js'
import type { OutputRange } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { isObject } from '../../protocol/json-values.js'

/** The output limits of one choice. The hold covers them, and the provider is never sent higher ones. */
export interface OutputBounds {
  /** The client's output limit, at most the model's maximum, or the limit that the router chooses. */
  readonly tokens: number
  /** Whether the provider is sent the output limit. */
  readonly isSent: boolean
  /** The largest thinking budget that the provider is sent. Some servers do not count it in the output limit. */
  readonly thinking: number
}

/** What a request says about its output. */
export interface WantedOutput {
  /** The client's own limit for a choice. 0 if there is none. */
  readonly bound: number
  /** The largest budget for thinking. 0 if there is none. */
  readonly budget: number
  readonly choices: number
  /** The number of alternatives with the log probability of each token. Undefined without log probabilities. */
  readonly alternatives: number | undefined
  readonly stream: boolean
}

/** The output limits of one choice that a hold may cover. */
export type BoundRange = Pick<OutputRange, 'least' | 'usual' | 'most'>

/** The router chooses no output limit below this, unless it is the model's maximum. */
const LEAST_TOKENS = 256

/**
 * The output limits of a request. A thinking budget must be below the output limit. If the client sets only a budget,
 * the output limit leaves room for it.
 */
export class RequestedOutput {
  /** See {@link OutputBounds}. */
  readonly thinking: number
  private readonly isSent: boolean
  /** The client's own limit. 0 if there is none. */
  private readonly asked: number
  private readonly budget: number
  /** The model's maximum, or the most tokens that can be read. */
  private readonly most: number
  private readonly mayBeTooLong: boolean

  constructor(
    wanted: WantedOutput,
    private readonly model: Model,
    private readonly options: {
      readonly charging: ChargingSettings
      readonly sizes: Pick<Sizes, 'replyBytes'>
      readonly neverOverdraw: boolean
    },
  ) {
    const { sizes, neverOverdraw } = options
    const listed = model.maxOutputTokens ?? Infinity
    const readable = readableTokens(wanted, sizes.replyBytes)
    this.most = Math.min(listed, readable)
    this.mayBeTooLong = listed !== Infinity && listed > readable
    const { bound, budget } = wanted
    this.asked = Math.min(bound, this.most)
    this.budget = budget
    this.isSent = bound > 0 || neverOverdraw || this.mayBeTooLong
    this.thinking = Math.min(budget, (this.asked || this.most) - 1)
  }

  /** @param room returns how many output tokens the model's context has left beside the prompt, at least up to `wanted` */
  rangeOn(route: Route, room: (wanted: number) => number): BoundRange {
    const { asked, budget, mayBeTooLong, model, most, options } = this
    if (asked > 0) {
      const tokens = Math.max(asked, leastHeld(route))
      return { least: tokens, usual: tokens, most: tokens }
    }
    const stated = route.defaultOutputTokens ?? model.defaultOutputTokens
    const usual = stated ?? options.charging.holdOutputTokens
    if (!options.neverOverdraw) {
      const tokens = Math.min(mayBeTooLong ? (stated ?? most) : usual, most)
      return { least: tokens, usual: tokens, most: tokens }
    }
    // If the model's maximum is unknown, a provider may refuse more than its own.
    const isFixed = stated !== undefined || model.maxOutputTokens === undefined
    const wanted = Math.min(isFixed ? usual + budget : most, most)
    const least = Math.min(wanted, LEAST_TOKENS + budget)
    const longest = Math.max(least, Math.min(wanted, room(wanted)))
    return { least, usual: Math.max(least, Math.min(usual + budget, longest)), most: longest }
  }

  /** Returns the limits for this number of output tokens, which {@link rangeOn} allows. */
  bounds(held: number, { adapter }: Route): OutputBounds {
    const { asked, isSent, thinking } = this
    // An adapter that raises a limit itself gets the client's own.
    const isRaised = asked > 0 && held > asked && adapter.leastOutputBound === undefined
    return { tokens: isRaised ? asked : held, isSent, thinking }
  }

  /**
   * Returns the output limit that a route is sent although the client set none, or set a smaller one. Undefined if there
   * is none.
   */
  chosenFor(route: Route, tokens: number): number | undefined {
    const { asked } = this
    const bounds = this.bounds(tokens, route)
    if (asked > 0) return bounds.tokens > asked ? bounds.tokens : undefined
    return sentLimit(bounds, this.model, route)
  }
}

/** Returns the fewest output tokens that a hold for a route covers. */
export function leastHeld({ adapter }: Route): number {
  return adapter.leastOutputBound ?? adapter.leastHeldOutput ?? 1
}

/** Returns the output limit that a route is sent. Undefined if none is sent. */
export function sentLimit(
  { isSent, thinking, tokens }: OutputBounds,
  { maxOutputTokens = Infinity }: Model,
  { adapter }: Route,
): number | undefined {
  if (isSent) return tokens
  // Everything on hold, because the API counts thinking in the output limit.
  return adapter.needsBound === true ? Math.min(tokens + thinking, maxOutputTokens) : undefined
}

/** The size of an event without its text. An event has at least one token. */
const BYTES_AN_EVENT = 320
const BYTES_A_TOKEN = 8
/** A token, its bytes and its probability, as JSON. */
const BYTES_A_LOGPROB = 140

/**
 * Returns how many tokens each choice may have so that the whole reply can still be read. With several choices or log
 * probabilities, a caller could request a longer reply, and nobody would pay for the rest.
 */
function readableTokens({ alternatives, choices, stream }: WantedOutput, replyBytes: number): number {
  const isDetailed = alternatives !== undefined
  if (!isDetailed && choices === 1) return Infinity
  const details = isDetailed ? BYTES_A_LOGPROB * (alternatives + 1) : 0
  const bytes = choices * ((stream ? BYTES_AN_EVENT : BYTES_A_TOKEN) + details)
  return Math.max(1, Math.floor(replyBytes / bytes))
}

/** Whether a value is a valid output limit. */
export function isOutputBound(bound: unknown): bound is number {
  return Number.isSafeInteger(bound) && (bound as number) >= 1
}

export function boundOf(bound: unknown): number {
  return isOutputBound(bound) ? bound : 0
}

/**
 * Returns what a chat says about its output. If both `max_completion_tokens` and `max_tokens` are valid, the larger one
 * applies.
 */
export function wantedByChat(chat: ChatRequest): WantedOutput {
  const { logprobs, max_completion_tokens: newer, max_tokens: older, n, stream, top_logprobs: top } = chat
  const alternatives = typeof top === 'number' ? top : typeof logprobs === 'number' ? logprobs : 0
  const isDetailed = alternatives > 0 || logprobs === true || typeof logprobs === 'number'
  return {
    bound: Math.max(boundOf(newer), boundOf(older)),
    budget: thinkingBudget(chat),
    choices: typeof n === 'number' ? n : 1,
    alternatives: isDetailed ? alternatives : undefined,
    stream: stream === true,
  }
}

function thinkingBudget(chat: ChatRequest): number {
  const { chat_template_kwargs: template, reasoning, thinking, thinking_budget: budget } = chat
  return Math.max(
    boundOf(budget),
    boundOf(isObject(reasoning) ? reasoning.max_tokens : undefined),
    boundOf(isObject(thinking) ? thinking.budget_tokens : undefined),
    boundOf(isObject(template) ? template.thinking_budget : undefined),
  )
}
