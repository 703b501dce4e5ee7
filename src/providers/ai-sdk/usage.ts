import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { isCount, type UsageReport } from '../../protocol/usage.js'
import { withMissing } from '../missing-counts.js'
import { unreadCounts } from '../unread-counts.js'
import { readMediaCounts } from './media-counts.js'
import type { SpecificationVersion } from './specification.js'

export interface UsageSource {
  readonly version: SpecificationVersion
  /** The name of the provider, as reported by the model. */
  readonly provider: string
}

/** Models of version 2 that report the counts of Anthropic's or Bedrock's API unchanged, by their packages' names. */
const CACHED_APART = new Set([
  'anthropic.messages',
  'vertex.anthropic.messages',
  'bedrock.anthropic.messages',
  'amazon-bedrock',
])

/** Models of version 2 whose packages report zeros if the provider reported nothing. */
const FILLS_IN = new Set(['openrouter', 'xai.responses'])

const READ_FLAT = new Set(['cachedInputTokens'])
const READ_NESTED = new Set(['noCache', 'cacheRead', 'cacheWrite'])

/**
 * Converts the usage that a model of the AI SDK reports to a `UsageReport`.
 *
 * Since version 3, the specification separates all parts of input and output. In version 2, each provider passed on
 * the counts of its API: Anthropic's and Bedrock's input excludes cached tokens. Reasoning is not part of the output
 * if it exceeds the output or completes the total.
 *
 * Returns `undefined` if the provider reported nothing, even if its package reports zeros.
 */
export function toUsage(usage: unknown, metadata: unknown, source: UsageSource): UsageReport | undefined {
  if (!isObject(usage)) return undefined
  const report = source.version === 'v2' ? readFlat(usage, metadata, source.provider) : readNested(usage)
  return report.prompt === 0 && report.completion === 0 && isFilledIn(usage, source) ? undefined : report
}

/** Since version 3, the provider's own report is included beside the counts. */
function isFilledIn({ raw }: JsonObject, { provider, version }: UsageSource): boolean {
  return version === 'v2' ? FILLS_IN.has(provider) : raw === undefined
}

function readNested(usage: JsonObject): UsageReport {
  const input = isObject(usage.inputTokens) ? usage.inputTokens : {}
  const output = isObject(usage.outputTokens) ? usage.outputTokens : {}
  const { cacheRead, cacheWrite } = input
  return {
    prompt: input.total ?? sum(input.noCache, cacheRead, cacheWrite),
    cached: cacheRead,
    cacheWrite,
    completion: output.total ?? sum(output.text, output.reasoning),
    reasoning: output.reasoning,
    ...readMediaCounts(usage.raw),
    ...withUnread(input, READ_NESTED),
  }
}

function readFlat(usage: JsonObject, metadata: unknown, provider: string): UsageReport {
  const cached = usage.cachedInputTokens
  const cacheWrite = readCacheWrite(metadata)
  const { inputTokens: input, outputTokens: output, reasoningTokens: reasoning, totalTokens: total } = usage
  const all = sum(input, cached, cacheWrite) ?? input
  const excludesCached =
    CACHED_APART.has(provider) ||
    isAnthropicsOwn(input, metadata) ||
    (isCount(all) &&
      all !== input &&
      [sum(all, output), sum(all, output, reasoning)].some((known) => known === total))
  const { completion, prompt } = excludesCached
    ? { prompt: all, completion: output }
    : withMissing({ prompt: input, completion: output, reasoning, total })
  const counted = excludesCached ? input : prompt
  const reasoningIsApart =
    isCount(reasoning) &&
    isCount(completion) &&
    (reasoning > completion ||
      (reasoning > 0 && isCount(counted) && total === counted + completion + reasoning))
  return {
    prompt,
    cached,
    cacheWrite,
    completion: reasoningIsApart ? completion + reasoning : completion,
    reasoning,
    ...readMediaCounts(readGeminisOwn(metadata)),
    // A provider that counts cached tokens separately excludes them from its total.
    ...(total !== undefined && !excludesCached && { total }),
    ...withUnread(usage, READ_FLAT),
  }
}

function withUnread(counts: JsonObject, read: ReadonlySet<string>): Pick<UsageReport, 'unread'> {
  const unread = unreadCounts([counts], read)
  return unread === undefined ? {} : { unread }
}

/**
 * Whether the input is exactly the count of Anthropic's API. The metadata repeats it, even if a host renamed the
 * provider.
 */
function isAnthropicsOwn(input: unknown, metadata: unknown): boolean {
  const anthropic = isObject(metadata) ? metadata.anthropic : undefined
  return isObject(anthropic) && isObject(anthropic.usage) && anthropic.usage.input_tokens === input
}

/** Version 2 has no field for it, but two providers report it in their metadata. */
function readCacheWrite(metadata: unknown): unknown {
  if (!isObject(metadata)) return undefined
  const { anthropic, bedrock } = metadata
  if (isObject(anthropic)) return anthropic.cacheCreationInputTokens ?? undefined
  return isObject(bedrock) && isObject(bedrock.usage) ? bedrock.usage.cacheWriteInputTokens : undefined
}

/** In version 2, Google's package is the only one to pass on the provider's own report. */
function readGeminisOwn(metadata: unknown): unknown {
  const google = isObject(metadata) ? metadata.google : undefined
  return isObject(google) ? google.usageMetadata : undefined
}

/** Returns the sum of the valid counts, or `undefined` if the first value is not a count. */
function sum(first: unknown, ...more: readonly unknown[]): number | undefined {
  if (!isCount(first)) return undefined
  return more.filter(isCount).reduce((total, count) => total + count, first)
}
