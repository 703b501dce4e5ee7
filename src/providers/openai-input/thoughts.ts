import type { JsonObject } from '../../protocol/json-values.js'

/** A thought of an earlier reply that its provider can verify, or that only its provider can read. */
export type SignedThought =
  | { readonly text: string; readonly signature: string }
  | { readonly encrypted: string }

/** The format of `reasoning_details` from Anthropic's models. */
export const CLAUDE_FORMAT = 'anthropic-claude-v1'
/** The format of `reasoning_details` from Google's models. */
export const GOOGLE_FORMAT = 'google-gemini-v1'

/**
 * Whether a detail may come from Claude. A conversation that changed models contains details of others, which the API
 * rejects.
 */
export function isOfClaude({ format }: JsonObject): boolean {
  return format === undefined || format === null || format === CLAUDE_FORMAT
}

/**
 * Reads the signed thoughts in `reasoning_details`. A client may have kept the pieces of a stream apart, so text up to a
 * signature forms one thought.
 */
export function signedThoughts(
  details: readonly JsonObject[],
  isOwn: (detail: JsonObject) => boolean,
): SignedThought[] {
  const thoughts: SignedThought[] = []
  let text = ''
  let index: unknown
  for (const detail of details.filter(isOwn)) {
    if (detail.type === 'reasoning.encrypted' && typeof detail.data === 'string') {
      thoughts.push({ encrypted: detail.data })
    }
    if (detail.type !== 'reasoning.text') continue
    if (detail.index !== index) text = ''
    index = detail.index
    if (typeof detail.text === 'string') text += detail.text
    if (typeof detail.signature === 'string' && detail.signature !== '') {
      thoughts.push({ text, signature: detail.signature })
      text = ''
    }
  }
  return thoughts
}
