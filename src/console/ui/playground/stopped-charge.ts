import type { ChargeView } from '../../protocol.js'
import type { Cost } from './reply-reader.js'

/** Longer than a router with the default limits continues a call whose client has left, and tries to settle it. */
const PATIENCE_MS = 1_020_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

/** The record of a call that has ended. */
interface Ended {
  readonly charge?: ChargeView
}

/**
 * Waits for the charge of a stopped call, which includes the output that the provider still writes. `look` returns the call
 * once its charge is known. Returns undefined if nothing is found for seventeen minutes, or if `isGone` returns true.
 */
export async function stoppedCharge(
  look: () => Promise<Ended | undefined>,
  isGone: () => boolean,
): Promise<Cost | undefined> {
  let pauseMs = FIRST_PAUSE_MS
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && !isGone(); waitedMs += pauseMs) {
    // A failed look counts as one that found nothing.
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
