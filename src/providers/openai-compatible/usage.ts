import type { Mutable } from '../../base/mutable.js'
import type { MediaUnit } from '../../base/units.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { INPUT_MEDIA, isCount, OUTPUT_MEDIA, type UsageReport } from '../../protocol/usage.js'
import { withMissing } from '../missing-counts.js'
import { unreadCounts } from '../unread-counts.js'

export type UnlistedTokens = 'output' | undefined

/** The names that providers use for one count. */
const PROMPT = ['prompt_tokens', 'input_tokens', 'promptTokens', 'inputTokens', 'promptTokenCount']
const COMPLETION = [
  'completion_tokens',
  'output_tokens',
  'completionTokens',
  'outputTokens',
  'candidatesTokenCount',
]
const TOTAL = ['total_tokens', 'totalTokens', 'totalTokenCount']
const REASONING = ['reasoning_tokens', 'thinking_tokens', 'reasoningTokens', 'thoughtsTokenCount']
const PROMPT_DETAILS = [
  'prompt_tokens_details',
  'input_tokens_details',
  'prompt_token_details',
  'input_token_details',
  'promptTokensDetails',
  'inputTokensDetails',
]
const COMPLETION_DETAILS = [
  'completion_tokens_details',
  'output_tokens_details',
  'completion_token_details',
  'output_token_details',
  'completionTokensDetails',
  'outputTokensDetails',
]
/** In `usage` itself or in its details. */
const CACHED = [
  'cached_tokens',
  'num_cached_tokens',
  'cache_read_input_tokens',
  'cache_read_tokens',
  'cache_read',
  'cached_input_tokens',
  'prompt_cache_hit_tokens',
  'cachedTokens',
  'cacheReadInputTokens',
  'cachedInputTokens',
  'cachedContentTokenCount',
]
const CACHE_WRITE = [
  'cache_write_tokens',
  'cache_write_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation_tokens',
  'cache_write',
  'cacheWriteInputTokens',
  'cacheCreationInputTokens',
]
/** Names of Anthropic and Bedrock. Their prompt excludes these counts. */
const ANTHROPICS = [
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cacheReadInputTokens',
  'cacheWriteInputTokens',
]
/** Counted in the prompt, at the prompt's price. */
const NOT_CACHED = ['prompt_cache_miss_tokens', 'cache_miss_tokens']
const KNOWN = new Set([...CACHED, ...CACHE_WRITE, ...NOT_CACHED])

/**
 * Converts a provider's `usage` to a `UsageReport`. Invalid counts are returned as they are, for the caller to judge.
 * Returns `undefined` if there is neither a prompt nor a completion count. A cost sent by the provider is never read.
 */
export function readUsage(given: unknown, unlistedTokens: UnlistedTokens): UsageReport | undefined {
  const usage = countsIn(given)
  if (usage === undefined) return undefined
  const prompt = first(usage, PROMPT)
  const listed = first(usage, COMPLETION)
  if (prompt === undefined && listed === undefined) return undefined
  const inputDetails = detailsOf(usage, PROMPT_DETAILS)
  const inputs = [inputDetails, usage]
  const outputs = detailsOf(usage, COMPLETION_DETAILS)
  const cached = largest(inputs, CACHED)
  const cacheWrite = largest(inputs, CACHE_WRITE) ?? sumOf(usage.cache_creation)
  const reasoning = first(outputs, REASONING) ?? first(usage, REASONING)
  const total = first(usage, TOTAL)
  const counts = { prompt, cached, cacheWrite, completion: listed, reasoning, total }
  const isAnthropics = usage.prompt_tokens == null && ANTHROPICS.some((name) => isCount(usage[name]))
  const unread = unreadCounts(inputs, KNOWN)
  const all = withAllOutput(withMissing(withAllInput(counts, isAnthropics)), unlistedTokens)
  // Written out: copies made by a spread survive V8's minor garbage collections.
  const report: Mutable<UsageReport> = {
    prompt: all.prompt,
    cached,
    cacheWrite,
    completion: all.completion,
    reasoning,
    total: all.total,
  }
  addMedia(report, inputDetails, INPUT_MEDIA)
  addMedia(report, outputs, OUTPUT_MEDIA)
  if (unread !== undefined) report.unread = unread
  return report
}

/** Many providers send 0 in each reply. */
function addMedia(report: Mutable<UsageReport>, details: JsonObject, units: readonly MediaUnit[]): void {
  for (const { name, wire } of units) {
    const count = details[wire]
    if (count !== undefined && count !== 0) report[name] = count
  }
}

interface Counts {
  readonly prompt: unknown
  readonly cached: unknown
  readonly cacheWrite: unknown
  readonly completion: unknown
  readonly reasoning: unknown
  readonly total: unknown
}

/**
 * Some providers list cached tokens beside the prompt, as the total shows. Without a total, counts under Anthropic's
 * names have Anthropic's meaning. More cached tokens than prompt tokens prove nothing: the meter limits them.
 */
function withAllInput(counts: Counts, isAnthropics: boolean): Counts {
  const { cached, cacheWrite, completion, prompt, reasoning, total } = counts
  const apart = (isCount(cached) ? cached : 0) + (isCount(cacheWrite) ? cacheWrite : 0)
  if (apart === 0 || !isCount(prompt)) return counts
  const outputs = isCount(completion)
    ? [completion, ...(isCount(reasoning) ? [completion + reasoning] : [])]
    : []
  const isApart =
    outputs.some((output) => total === prompt + apart + output) || (isAnthropics && total === undefined)
  return isApart ? { ...counts, prompt: prompt + apart } : counts
}

/** Some providers list reasoning beside the completion, and some omit part of the output. The total shows it. */
function withAllOutput(
  { completion: listed, prompt, reasoning, total }: Counts,
  unlistedTokens: UnlistedTokens,
): Pick<UsageReport, 'prompt' | 'completion' | 'total'> {
  if (!isCount(listed)) return { prompt, completion: listed, total }
  const known = isCount(prompt) && isCount(total) ? total - prompt : undefined
  let output = listed
  if (isCount(reasoning) && (reasoning > listed || known === listed + reasoning)) output = listed + reasoning
  if (unlistedTokens === 'output' && known !== undefined) output = Math.max(output, known)
  return { prompt, completion: output, total }
}

/** Returns the object with the counts. Cohere has them in `tokens`, and some servers send a list of snapshots. */
function countsIn(given: unknown): JsonObject | undefined {
  const usage: unknown = Array.isArray(given) ? given.at(-1) : given
  if (!isObject(usage)) return undefined
  return isObject(usage.tokens) && first(usage, PROMPT) === undefined ? usage.tokens : usage
}

/** Returns the first value under any of the names. */
function first(object: JsonObject, names: readonly string[]): unknown {
  for (const name of names) {
    const value = object[name]
    if (value !== undefined && value !== null) return value
  }
  return undefined
}

function detailsOf(usage: JsonObject, names: readonly string[]): JsonObject {
  for (const name of names) {
    const details = usage[name]
    if (isObject(details)) return details
  }
  return {}
}

/** Returns the tokens written to caches of all lifetimes, which some providers list separately. */
function sumOf(counts: unknown): number | undefined {
  if (!isObject(counts)) return undefined
  return Object.values(counts)
    .filter(isCount)
    .reduce((sum, count) => sum + count, 0)
}

/**
 * Returns the largest valid count under any of the names. Without one, returns the first value, for the caller to
 * judge.
 */
function largest(places: readonly JsonObject[], names: readonly string[]): unknown {
  let stated: unknown
  let most: number | undefined
  for (const place of places) {
    for (const name of names) {
      const value = place[name]
      if (value === undefined || value === null) continue
      stated ??= value
      if (isCount(value) && (most === undefined || value > most)) most = value
    }
  }
  return most ?? stated
}
