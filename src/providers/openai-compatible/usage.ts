import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { isCount, type UsageReport } from '../../protocol/usage.js'

export type UnlistedTokens = 'output' | undefined

/** The names that providers have for one count, each in `usage` itself or in its details. */
const CACHED = [
  'cached_tokens',
  'cache_read_input_tokens',
  'cache_read_tokens',
  'cached_input_tokens',
  'prompt_cache_hit_tokens',
]
const CACHE_WRITE = [
  'cache_write_tokens',
  'cache_write_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation_tokens',
]
/** Counted in the prompt, at its own price. */
const NOT_CACHED = ['prompt_cache_miss_tokens', 'cache_miss_tokens']
const KNOWN = new Set([...CACHED, ...CACHE_WRITE, ...NOT_CACHED])
const SAYS_CACHE = /cache/i

/**
 * Turns a provider's `usage` into the one meaning. A value that is no count stays as it was, for the caller to judge;
 * undefined if there is neither a prompt nor a completion count. A cost of the provider's is never read.
 */
export function readUsage(usage: unknown, unlistedTokens: UnlistedTokens): UsageReport | undefined {
  if (!isObject(usage)) return undefined
  const prompt = usage.prompt_tokens ?? usage.input_tokens ?? undefined
  const listed = usage.completion_tokens ?? usage.output_tokens ?? undefined
  if (prompt === undefined && listed === undefined) return undefined
  const inputs = [detailsOf(usage, 'prompt_tokens_details', 'input_tokens_details'), usage]
  const outputs = detailsOf(usage, 'completion_tokens_details', 'output_tokens_details')
  const cached = largest(inputs, CACHED)
  const cacheWrite = largest(inputs, CACHE_WRITE)
  const reasoning = outputs.reasoning_tokens ?? usage.reasoning_tokens ?? undefined
  const total = usage.total_tokens ?? undefined
  const counts = { prompt, cached, cacheWrite, completion: listed, reasoning, total }
  const unread = unreadCounts(inputs)
  return {
    ...withAllOutput(withAllInput(counts), unlistedTokens),
    cached,
    cacheWrite,
    reasoning,
    ...(unread !== undefined && { unread }),
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

/** Some list what the cache gave and took beside the prompt: the total tells, or that it is more than the prompt. */
function withAllInput(counts: Counts): Counts {
  const { cached, cacheWrite, completion, prompt, reasoning, total } = counts
  const apart = (isCount(cached) ? cached : 0) + (isCount(cacheWrite) ? cacheWrite : 0)
  if (apart === 0 || !isCount(prompt)) return counts
  const outputs = isCount(completion)
    ? [completion, ...(isCount(reasoning) ? [completion + reasoning] : [])]
    : []
  const isApart = apart > prompt || outputs.some((output) => total === prompt + apart + output)
  return isApart ? { ...counts, prompt: prompt + apart } : counts
}

/** Some list reasoning beside the completion, some list part of the output nowhere; the total tells. */
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

function detailsOf(usage: JsonObject, ...names: readonly string[]): JsonObject {
  for (const name of names) {
    const details = usage[name]
    if (isObject(details)) return details
  }
  return {}
}

/** The largest count under any of the names; else the first value that is none, for the caller to judge. */
function largest(places: readonly JsonObject[], names: readonly string[]): unknown {
  const values = places.flatMap((place) => names.flatMap((name) => place[name] ?? []))
  const counts = values.filter(isCount)
  return counts.length > 0 ? Math.max(...counts) : values[0]
}

function unreadCounts(places: readonly JsonObject[]): Record<string, number> | undefined {
  let unread: Record<string, number> | undefined
  for (const place of places) {
    for (const [name, value] of Object.entries(place)) {
      if (!SAYS_CACHE.test(name) || KNOWN.has(name) || typeof value !== 'number' || value === 0) continue
      unread ??= {}
      unread[name] = value
    }
  }
  return unread
}
