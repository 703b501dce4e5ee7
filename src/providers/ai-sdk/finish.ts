import { textOf } from '../openai-input/text.js'
import { isObject, type JsonObject } from '../provider-json.js'

/** `finish_reason` and `native_finish_reason` of a choice. Version 2 has a word, later ones an object. */
export function toFinish(reason: unknown): JsonObject & { finish_reason: string } {
  const unified = isObject(reason) ? reason.unified : reason
  const raw = isObject(reason) ? textOf(reason.raw) : undefined
  return {
    finish_reason: (textOf(unified) ?? 'other').replace('-', '_'),
    ...(raw === undefined ? {} : { native_finish_reason: raw }),
  }
}
