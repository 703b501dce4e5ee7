import { isProviderError } from '../../base/errors.js'
import type { SentThinking } from './request.js'

const LONGEST_WORDS = 4_096
/** A signature of another provider or account, or a block that a client changed. */
const REFUSES_BLOCKS = /\bsignature\b.{0,40}\bthinking\b|\bthinking\b.{0,80}\bcannot be modified\b/
const MISSES_BLOCKS = /\bExpected .?thinking\b.{0,60}\bfound\b/

/**
 * Returns the thinking with which to send a conversation again after the provider rejected it, or undefined if the
 * failure stands. The text can be the caller's, so it decides about the caller's own call alone.
 */
export function thinkingAfter(failure: unknown, sent: SentThinking): SentThinking | undefined {
  if (!isProviderError(failure) || failure.reason !== 'status' || failure.status !== 400) return undefined
  const words = failure.providerMessage?.slice(0, LONGEST_WORDS) ?? ''
  if (sent.blocks && REFUSES_BLOCKS.test(words)) return { blocks: false, budget: sent.budget }
  if (sent.budget && MISSES_BLOCKS.test(words)) return { blocks: sent.blocks, budget: false }
  return undefined
}
