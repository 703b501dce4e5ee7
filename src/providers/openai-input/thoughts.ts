import type { ThoughtPiece } from '../../conversation/conversation.js'

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
export function isOfClaude({ format }: ThoughtPiece): boolean {
  return format === undefined || format === CLAUDE_FORMAT
}

/**
 * Returns the signed thoughts of a reply. A client may have kept the pieces of a stream apart, so text up to a signature
 * forms one thought.
 */
export function signedThoughts(
  pieces: readonly ThoughtPiece[],
  isOwn: (piece: ThoughtPiece) => boolean,
): SignedThought[] {
  const thoughts: SignedThought[] = []
  let gathered = ''
  let at: string | number | undefined
  for (const piece of pieces.filter(isOwn)) {
    const { data, index, kind, signature, text = '' } = piece
    if (kind === 'encrypted' && data !== undefined) thoughts.push({ encrypted: data })
    if (kind !== 'text') continue
    if (index !== at) gathered = ''
    at = index
    gathered += text
    if (signature !== undefined && signature !== '') {
      thoughts.push({ text: gathered, signature })
      gathered = ''
    }
  }
  return thoughts
}
