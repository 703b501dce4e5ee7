import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { isCount, type UsageReport } from '../../protocol/usage.js'

export type UnlistedTokens = 'output' | undefined

/**
 * Turns a provider's `usage` into the one meaning. What is no count stays as it stood, for the caller to judge;
 * undefined where there is neither a prompt nor a completion count. A cost of the provider's is never read.
 */
export function readUsage(usage: unknown, unlistedTokens: UnlistedTokens): UsageReport | undefined {
  if (!isObject(usage)) return undefined
  const promptDetails = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {}
  const completionDetails = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {}
  const prompt = usage.prompt_tokens ?? undefined
  const listed = usage.completion_tokens ?? undefined
  if (prompt === undefined && listed === undefined) return undefined
  const reasoning = completionDetails.reasoning_tokens ?? usage.reasoning_tokens ?? undefined
  return {
    prompt,
    cached: promptDetails.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens ?? undefined,
    cacheWrite: promptDetails.cache_write_tokens ?? promptDetails.cache_creation_tokens ?? undefined,
    completion: allOutput(usage, prompt, listed, reasoning, unlistedTokens),
    reasoning,
  }
}

/** Some list reasoning beside the completion, some list part of the output nowhere; the total tells. */
function allOutput(
  usage: JsonObject,
  prompt: unknown,
  listed: unknown,
  reasoning: unknown,
  unlistedTokens: UnlistedTokens,
): unknown {
  if (!isCount(listed)) return listed
  const total = usage.total_tokens
  const known = isCount(prompt) && isCount(total) ? total - prompt : undefined
  let output = listed
  if (isCount(reasoning) && (reasoning > listed || known === listed + reasoning)) output = listed + reasoning
  return unlistedTokens === 'output' && known !== undefined ? Math.max(output, known) : output
}
