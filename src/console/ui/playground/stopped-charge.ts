import type { ChargeView } from '../../protocol/index.js'
import type { Cost } from './reply-reader.js'

/** Longer than a call whose client has left goes on, and is tried to be settled, by a router's usual limits. */
const PATIENCE_MS = 1_020_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

/** What was found of a call that has ended. */
interface Ended {
  readonly charge?: ChargeView
}

/**
 * Who stops a call still pays for what the provider writes on; `look` finds what it was once it is known. Undefined where
 * nothing was found for seventeen minutes, or `isGone` said that nobody waits any more.
 */
export async function stoppedCharge(
  look: () => Promise<Ended | undefined>,
  isGone: () => boolean,
): Promise<Cost | undefined> {
  let pauseMs = FIRST_PAUSE_MS
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && !isGone(); waitedMs += pauseMs) {
    // A look that fails is one that found nothing yet.
    const ended = await look().catch(() => undefined)
    if (ended !== undefined) return costOf(ended.charge)
    pauseMs = Math.min(pauseMs * 1.3, LONGEST_PAUSE_MS)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return undefined
}

function costOf(charge: ChargeView | undefined): Cost {
  return {
    cost: charge?.cost ?? '0',
    base: charge?.base ?? '0',
    markup: charge?.markup ?? '0',
    basis: charge?.basis ?? 'reported',
    isByok: charge?.byok ?? false,
    promptTokens: charge?.usage.prompt ?? 0,
    cachedTokens: charge?.usage.cached ?? 0,
    completionTokens: charge?.usage.completion ?? 0,
    reasoningTokens: charge?.usage.reasoning ?? 0,
  }
}
