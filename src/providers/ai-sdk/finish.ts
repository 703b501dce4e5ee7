import { textOf } from '../openai-input/text.js'
import { isObject, type JsonObject } from '../provider-json.js'

/**
 * `finish_reason` and `native_finish_reason` of a choice, from the word of version 2 or the object of later ones.
 *
 * `undefined` where the provider said nothing: packages then fill in `unknown`, or `other` without a word of its own,
 * and a reply that was cut short would pass for a whole one.
 */
export function toFinish(reason: unknown): (JsonObject & { finish_reason: string }) | undefined {
  const unified = textOf(isObject(reason) ? reason.unified : reason)
  const raw = isObject(reason) ? textOf(reason.raw) : undefined
  if (unified === undefined || unified === 'unknown' || unified === 'interrupted') return undefined
  if (unified === 'other' && isObject(reason) && raw === undefined) return undefined
  return {
    finish_reason: unified.replace('-', '_'),
    ...(raw === undefined ? {} : { native_finish_reason: raw }),
  }
}
