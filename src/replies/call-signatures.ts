import { isObject, isText, type JsonObject, textOf } from '../protocol/json-values.js'

/** The format of `reasoning_details` from Google's models. */
const GOOGLE_FORMAT = 'google-gemini-v1'

/** Returns Google's signature in a tool call of a chat. */
export function googleSignature({ extra_content: extra }: JsonObject): string | undefined {
  const google = isObject(extra) ? extra.google : undefined
  return isObject(google) ? textOf(google.thought_signature) : undefined
}

/** Returns Google's signature of a tool call as a reasoning detail, for an API whose calls have no field for it. */
export function signedCallDetail(id: string, signature: string): JsonObject {
  return { type: 'reasoning.encrypted', id, data: signature, format: GOOGLE_FORMAT }
}

/** Restores the signatures of calls from the details that {@link signedCallDetail} created. */
export function signCalls(calls: readonly JsonObject[], details: readonly JsonObject[]): void {
  const signatures = new Map<unknown, unknown>()
  for (const { data, format, id } of details) {
    if (format === GOOGLE_FORMAT && !signatures.has(id)) signatures.set(id, data)
  }
  for (const call of calls) {
    if (signatures.has(call.id)) {
      call.extra_content = { google: { thought_signature: signatures.get(call.id) } }
    }
  }
}

/**
 * Whether {@link signedCallDetail} created this signature of a call. One that a provider sent as a detail has an index.
 */
export function isMadeHere({ index }: JsonObject): boolean {
  return index === undefined
}

/** Whether a detail is the signature of a call. */
export function isCallSignature({ format, id }: JsonObject): boolean {
  return format === GOOGLE_FORMAT && isText(id)
}
