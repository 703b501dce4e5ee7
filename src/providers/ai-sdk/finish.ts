import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { isCount, type UsageReport } from '../../protocol/usage.js'
import type { UsageSource } from './usage.js'

/** Models of version 2 whose counts grow with the reply, so that a reply cut short has them too. */
const COUNTS_ON_THE_WAY = new Set(['google.generative-ai', 'google.vertex.chat'])

/**
 * `finish_reason` and `native_finish_reason` of a choice, from the word of version 2 or the object of later ones.
 *
 * `undefined` if the provider said nothing: packages then fill in `unknown`, or `other` without a word of its own,
 * and a reply that was cut short would pass for a whole one.
 */
export function toFinish(
  reason: unknown,
  source: UsageSource,
): (JsonObject & { finish_reason: string }) | undefined {
  const unified = unifiedReason(reason)
  const raw = isObject(reason) ? textOf(reason.raw) : undefined
  if (unified === undefined || unified === 'interrupted' || isMadeUp(unified, source)) return undefined
  if (unified === 'other' && isObject(reason) && raw === undefined) return undefined
  const native = raw ?? (isDroppedByGoogle(unified, source) ? 'MALFORMED_FUNCTION_CALL' : undefined)
  return {
    finish_reason: unified.replace('-', '_'),
    ...(native === undefined ? {} : { native_finish_reason: native }),
  }
}

/** Version 2 has no place for Google's own word, and Google's packages call nothing else an error that has an end. */
function isDroppedByGoogle(unified: string, { provider, version }: UsageSource): boolean {
  return unified === 'error' && version === 'v2' && provider.startsWith('google.')
}

/** The word that is the same for all packages. */
export function unifiedReason(reason: unknown): string | undefined {
  return textOf(isObject(reason) ? reason.unified : reason)
}

/** Whether a package has this word if the provider gave none. OpenRouter's for version 2 then says `other`. */
function isMadeUp(word: unknown, { provider, version }: UsageSource): boolean {
  return word === 'unknown' || (word === 'other' && version === 'v2' && provider === 'openrouter')
}

/**
 * Whether a reply ended although its package knows no word for how. Version 2 says `unknown` of a reason that it does
 * not know and of none at all; but providers send the counts of the output last, and a reply cut short has none.
 */
export function endedUnnamed(reason: unknown, usage: UsageReport | undefined, source: UsageSource): boolean {
  if (source.version !== 'v2' || !isMadeUp(reason, source) || COUNTS_ON_THE_WAY.has(source.provider))
    return false
  return isCount(usage?.completion) && usage.completion > 0
}
