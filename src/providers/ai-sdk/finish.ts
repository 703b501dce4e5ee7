import type { ProviderEnd } from '../../conversation/delta.js'
import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { isCount, type UsageReport } from '../../protocol/usage.js'
import type { UsageSource } from './usage.js'

/** Models of version 2 whose counts grow with the reply, so that even a reply cut short has them. */
const COUNTS_ON_THE_WAY = new Set(['google.generative-ai', 'google.vertex.chat'])

/**
 * Returns the end of a reply, from the string of version 2 or the object of later versions.
 *
 * Returns `undefined` if the provider gave no reason. Packages then report `unknown`, or `other` without the
 * provider's own reason, and an incomplete reply would pass for a complete one.
 */
export function toEnd(
  { finishReason: reason, providerMetadata: metadata }: JsonObject,
  source: UsageSource,
): ProviderEnd | undefined {
  const unified = unifiedReason(reason)
  const raw = isObject(reason) ? textOf(reason.raw) : undefined
  if (unified === undefined || unified === 'interrupted' || isMadeUp(unified, source)) return undefined
  if (unified === 'other' && isObject(reason) && raw === undefined) return undefined
  const native = raw ?? (isDroppedByGoogle(unified, source) ? 'MALFORMED_FUNCTION_CALL' : undefined)
  const stopSequence = stopSequenceIn(metadata)
  return { type: 'end', choice: 0, reason: unified.replace('-', '_'), native, stopSequence }
}

/** Claude's package says which sequence stopped a reply. */
function stopSequenceIn(metadata: unknown): string | undefined {
  const claude = isObject(metadata) ? metadata.anthropic : undefined
  return isObject(claude) ? textOf(claude.stopSequence) : undefined
}

/** Version 2 has no field for Google's own reason. Google's packages use `error` for no other complete reply. */
function isDroppedByGoogle(unified: string, { provider, version }: UsageSource): boolean {
  return unified === 'error' && version === 'v2' && provider.startsWith('google.')
}

/** Returns the reason in the words that all packages share. */
export function unifiedReason(reason: unknown): string | undefined {
  return textOf(isObject(reason) ? reason.unified : reason)
}

/** Whether a package uses this word if the provider gave no reason. OpenRouter's for version 2 uses `other`. */
function isMadeUp(word: unknown, { provider, version }: UsageSource): boolean {
  return word === 'unknown' || (word === 'other' && version === 'v2' && provider === 'openrouter')
}

/**
 * Whether a reply ended although its package has no word for the reason. Version 2 uses `unknown` both for an unknown
 * reason and for none. But providers send the output counts last, and a reply that was cut short has none.
 */
export function endedUnnamed(reason: unknown, usage: UsageReport | undefined, source: UsageSource): boolean {
  if (source.version !== 'v2' || !isMadeUp(reason, source) || COUNTS_ON_THE_WAY.has(source.provider))
    return false
  return isCount(usage?.completion) && usage.completion > 0
}
