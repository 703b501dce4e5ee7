import type { Model } from '../../contracts/catalogue.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { isObject } from '../../protocol/json-values.js'

/** What one choice of a call may have of output at most. The hold covers it, and the provider is sent no more. */
export interface OutputBounds {
  /** The bound of the client, at most the model's maximum; a default if it named none. */
  readonly tokens: number
  /** Whether the provider is sent that bound: the client named one, or nothing may be overdrawn. */
  readonly isSent: boolean
  /** The largest budget for thinking that the provider is sent; some servers do not count it in the bound. */
  readonly thinking: number
}

/**
 * Reads the bounds of a request. The larger valid one of `max_completion_tokens` and `max_tokens` counts. A budget for
 * thinking is below the bound; if the client named a budget alone, a bound that is sent leaves room for it.
 */
export function outputBounds(
  request: ChatRequest,
  model: Model,
  holdOutputTokens: number,
  neverOverdraw: boolean,
): OutputBounds {
  const { max_completion_tokens: newer, max_tokens: older } = request
  const most = model.maxOutputTokens ?? Infinity
  const asked = Math.max(boundOf(newer), boundOf(older))
  const budget = thinkingBudget(request)
  const tokens = Math.min(
    asked > 0 ? asked : neverOverdraw ? holdOutputTokens + budget : holdOutputTokens,
    most,
  )
  const isSent = asked > 0 || neverOverdraw
  return { tokens, isSent, thinking: Math.min(budget, (isSent ? tokens : most) - 1) }
}

/** Whether a request's bound counts as one. */
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
