import type { Model } from '../../contracts/catalogue.js'
import type { InputEstimate, PlanOptions } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { estimatePrompt } from './prompt-estimate.js'

interface Prompt {
  readonly request: () => ChatRequest
  readonly model: Model
  readonly route: Route
  readonly options: PlanOptions
}

/**
 * Returns how many tokens the prompt leaves of the model's context. The result is exact if fewer than `wanted` are
 * left. The upper bound of a prompt can be several times its tokens, so if the bound leaves too few, the prompt is
 * estimated a second time.
 */
export function contextLeft(
  wanted: number,
  input: InputEstimate,
  { model, options, request, route }: Prompt,
): number {
  const { contextLength } = model
  if (contextLength === undefined) return Infinity
  const { adapter, promptEscapes } = route
  const left = contextLength - input.atMost(adapter.tokenFactor, promptEscapes)
  if (left >= wanted || !options.neverOverdraw) return left
  const { contextCounter: counter = options.counter, upperCounter } = options
  const estimate = estimatePrompt(request(), model, { counter, upperCounter, neverOverdraw: false })
  return contextLength - estimate.atMost(adapter.tokenFactor, promptEscapes)
}
