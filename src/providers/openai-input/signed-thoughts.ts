import { isProviderError } from '../../base/errors.js'
import type { ThoughtPiece } from '../../conversation/conversation.js'
import { CLAUDE_FORMAT, isEncryptedByOpenAi } from '../../conversation/thoughts.js'

/** A thought of an earlier reply that its provider can verify, or that only its provider can read. */
export type SignedThought =
  | { readonly text: string; readonly signature: string }
  | { readonly encrypted: string }

/**
 * Whether a detail may come from Claude. A conversation that changed models contains details of others, which the API
 * rejects.
 */
export function isOfClaude({ data = '', format, signature = data }: ThoughtPiece): boolean {
  return format === CLAUDE_FORMAT || (format === undefined && !isEncryptedByOpenAi(signature))
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

const LONGEST_WORDS = 4_096
/** Matches complaints about a signature of another provider or account, or about a block that a client changed. */
const REFUSES_SIGNED = /\bsignature\b.{0,40}\bthinking\b|\bthinking\b.{0,80}\bcannot be modified\b/
/** OpenAI's phrases for reasoning of another account or another model, or from too long ago. */
const REFUSES_ENCRYPTED = /encrypted[ _]content|'reasoning'/

/** Returns the words with which a provider refused a request as wrong. Empty for any other failure. */
export function wordsOfRefusal(failure: unknown): string {
  if (!isProviderError(failure) || failure.reason !== 'status' || failure.status !== 400) return ''
  return failure.providerMessage?.slice(0, LONGEST_WORDS) ?? ''
}

/** Whether Claude says that it cannot verify the thinking of earlier replies. */
export function refusesSigned(words: string): boolean {
  return REFUSES_SIGNED.test(words)
}

/** Whether OpenAI says that it cannot read the reasoning of earlier replies. */
export function refusesEncrypted(words: string): boolean {
  return REFUSES_ENCRYPTED.test(words)
}
