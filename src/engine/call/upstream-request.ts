import type { ChatRequest } from '../../protocol/chat-request.js'
import { isOutputBound } from '../charging/quote.js'

/** The request in the provider's name of the model, its output clamped where the hold must not be exceeded. */
export function upstreamRequest(
  forward: ChatRequest,
  upstreamModel: string,
  maxOutputTokens: number | undefined,
): ChatRequest {
  const request: ChatRequest = { ...forward, model: upstreamModel }
  if (maxOutputTokens === undefined) return request
  const bounds = (['max_tokens', 'max_completion_tokens'] as const).filter((field) => forward[field] != null)
  if (bounds.length === 0) bounds.push('max_tokens')
  for (const field of bounds) {
    const asked = forward[field]
    request[field] = isOutputBound(asked) ? Math.min(asked, maxOutputTokens) : maxOutputTokens
  }
  return request
}
