import { type Effort, effortOf } from '../../conversation/effort.js'
import type { Reasoning } from '../../conversation/settings.js'
import { unsupported } from '../../conversation/unsupported.js'

const MIN_BUDGET_TOKENS = 1_024
const EFFORT_SHARE = { minimal: 0.1, low: 0.2, medium: 0.5, high: 0.8, xhigh: 0.9, max: 0.95 }

/** Claude models from before adaptive thinking. The list is final. */
const BUDGET_ONLY = /claude-(?:instant|v?[123]\b|(?:opus|sonnet|haiku)-4(?![-.][6-9](?!\d)))/

/** The fields that ask the Messages API for reasoning: `thinking`, and `effort` for `output_config`. */
export interface NativeThinking {
  readonly thinking: Readonly<Record<string, unknown>>
  readonly effort?: string
}

/**
 * Converts the caller's reasoning settings to the API's terms.
 *
 * `none` disables thinking. A number of tokens becomes the budget unchanged. An effort becomes the API's own `effort`
 * on Claude models that have adaptive thinking. On all others it becomes a budget: a share of `maxTokens`, which
 * includes the budget.
 */
export function toThinking(reasoning: Reasoning, model: string, maxTokens: number): NativeThinking {
  const effort = effortOf(reasoning)
  if (effort === 'none') return { thinking: { type: 'disabled' } }
  if (effort === undefined) return { thinking: { type: 'enabled', budget_tokens: reasoning.budget } }
  if (model.includes('claude') && !BUDGET_ONLY.test(model)) {
    return {
      thinking: { type: 'adaptive', display: 'summarized' },
      effort: effort === 'minimal' ? 'low' : effort,
    }
  }
  return { thinking: { type: 'enabled', budget_tokens: budgetOf(effort, reasoning.param, maxTokens) } }
}

function budgetOf(effort: Exclude<Effort, 'none'>, param: string, maxTokens: number): number {
  if (maxTokens <= MIN_BUDGET_TOKENS) {
    throw unsupported(
      param,
      `${param}: this model's reasoning needs a "max_completion_tokens" above ${MIN_BUDGET_TOKENS}.`,
    )
  }
  return Math.max(MIN_BUDGET_TOKENS, Math.floor(maxTokens * EFFORT_SHARE[effort]))
}
