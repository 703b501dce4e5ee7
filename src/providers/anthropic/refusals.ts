import { isProviderError } from '../../base/errors.js'
import type { SentThinking } from './request.js'

const LONGEST_WORDS = 4_096
/** Matches complaints about a signature of another provider or account, or about a block that a client changed. */
const REFUSES_BLOCKS = /\bsignature\b.{0,40}\bthinking\b|\bthinking\b.{0,80}\bcannot be modified\b/
const MISSES_BLOCKS = /\bExpected .?thinking\b.{0,60}\bfound\b/

/**
 * Returns the thinking with which to send a conversation again after the provider rejected it. Undefined if the failure
 * is final. The text may come from the caller, so it affects only the caller's own call.
 */
export function thinkingAfter(failure: unknown, sent: SentThinking): SentThinking | undefined {
  if (!isProviderError(failure) || failure.reason !== 'status' || failure.status !== 400) return undefined
  const words = failure.providerMessage?.slice(0, LONGEST_WORDS) ?? ''
  if (sent.blocks && REFUSES_BLOCKS.test(words)) return { blocks: false, budget: sent.budget }
  if (sent.budget && MISSES_BLOCKS.test(words)) return { blocks: sent.blocks, budget: false }
  return undefined
}
