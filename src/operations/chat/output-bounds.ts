import type { Model } from '../../contracts/catalogue.js'
import type { Limits } from '../../contracts/limits.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { isObject } from '../../protocol/json-values.js'

/** The output limits of one choice. The hold covers them, and the provider is never sent higher ones. */
export interface OutputBounds {
  /** The client's output limit, at most the model's maximum. A default if the client set none. */
  readonly tokens: number
  /** Whether the provider is sent the output limit. */
  readonly isSent: boolean
  /** The largest budget for thinking that the provider is sent. Some servers do not count it in the output limit. */
  readonly thinking: number
}

/**
 * Reads the output limits of a request. If both `max_completion_tokens` and `max_tokens` are valid, the larger one
 * applies. A budget for thinking is below the output limit. If the client set only a budget, an output limit that is
 * sent leaves room for it.
 */
export function outputBounds(
  request: ChatRequest,
  model: Model,
  { holdOutputTokens, replyBytes }: Pick<Limits, 'holdOutputTokens' | 'replyBytes'>,
  neverOverdraw: boolean,
): OutputBounds {
  const { max_completion_tokens: newer, max_tokens: older } = request
  const listed = model.maxOutputTokens ?? Infinity
  const readable = readableTokens(request, replyBytes)
  const most = Math.min(listed, readable)
  const asked = Math.max(boundOf(newer), boundOf(older))
  const budget = thinkingBudget(request)
  const mayBeTooLong = listed !== Infinity && listed > readable
  let unnamed = mayBeTooLong ? readable : holdOutputTokens
  if (neverOverdraw) unnamed = holdOutputTokens + budget
  const tokens = Math.min(asked > 0 ? asked : unnamed, most)
  const isSent = asked > 0 || neverOverdraw || mayBeTooLong
  return { tokens, isSent, thinking: Math.min(budget, (isSent ? tokens : most) - 1) }
}

/** The size of an event without its text. An event has at least one token. */
const BYTES_AN_EVENT = 320
const BYTES_A_TOKEN = 8
/** A token, its bytes and its probability, as JSON. */
const BYTES_A_LOGPROB = 140

/**
 * Returns how many tokens each choice may have so that the whole reply can still be read. With several choices or the
 * probabilities of tokens, a caller could request a longer reply, and nobody would pay for the rest.
 */
function readableTokens({ logprobs, n, stream, top_logprobs: top }: ChatRequest, replyBytes: number): number {
  const alternatives = typeof top === 'number' ? top : typeof logprobs === 'number' ? logprobs : 0
  const isDetailed = alternatives > 0 || logprobs === true || typeof logprobs === 'number'
  const choices = typeof n === 'number' ? n : 1
  if (!isDetailed && choices === 1) return Infinity
  const details = isDetailed ? BYTES_A_LOGPROB * (alternatives + 1) : 0
  const bytes = choices * ((stream === true ? BYTES_AN_EVENT : BYTES_A_TOKEN) + details)
  return Math.max(1, Math.floor(replyBytes / bytes))
}

/** Whether a value is a valid output limit. */
export function isOutputBound(bound: unknown): bound is number {
  return Number.isSafeInteger(bound) && (bound as number) >= 1
}

function boundOf(bound: unknown): number {
  return isOutputBound(bound) ? bound : 0
}

function thinkingBudget(request: ChatRequest): number {
  const { chat_template_kwargs: template, reasoning, thinking, thinking_budget: budget } = request
  return Math.max(
    boundOf(budget),
    boundOf(isObject(reasoning) ? reasoning.max_tokens : undefined),
    boundOf(isObject(thinking) ? thinking.budget_tokens : undefined),
    boundOf(isObject(template) ? template.thinking_budget : undefined),
  )
}
