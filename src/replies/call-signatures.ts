import { GOOGLE_FORMAT } from '../conversation/thoughts.js'
import { isObject, type JsonObject, textOf } from '../protocol/json-values.js'

/** Returns Google's signature in a tool call of a chat. */
export function googleSignature({ extra_content: extra }: JsonObject): string | undefined {
  const google = isObject(extra) ? extra.google : undefined
  return isObject(google) ? textOf(google.thought_signature) : undefined
}

/** Returns Google's signature of a tool call as a reasoning detail, for an API whose calls have no field for it. */
export function signedCallDetail(id: string, signature: string): JsonObject {
  return { type: 'reasoning.encrypted', id, data: signature, format: GOOGLE_FORMAT }
}
