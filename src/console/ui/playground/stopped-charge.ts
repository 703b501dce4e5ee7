import type { ChargeView, EventView } from '../../protocol.js'
import type { Cost } from './reply-reader.js'

/** Longer than a router reads on for a client that has left, and tries to settle, by its usual limits. */
const PATIENCE_MS = 180_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 10_000

/**
 * Who stops a call still pays for what the provider writes on; the newest events, which `look` reads, tell what it was.
 * Undefined where none told it for three minutes, or `isGone` said that nobody waits any more.
 */
export async function stoppedCharge(
  requestId: string,
  look: () => Promise<readonly EventView[]>,
  isGone: () => boolean,
): Promise<Cost | undefined> {
  let pauseMs = FIRST_PAUSE_MS
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && !isGone(); waitedMs += pauseMs) {
    // A look that fails is one that found nothing yet.
    const events = await look().catch(() => [])
    const end = events.find((event) => event.type === 'request-end' && event.requestId === requestId)
    if (end !== undefined) return costOf(end.charge)
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
