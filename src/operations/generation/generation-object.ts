import { creditsToNumber, formatCredits } from '../../base/money.js'
import type { Charge } from '../../contracts/ledger.js'
import { mediaCount } from '../../protocol/usage.js'
import type { Generation } from './find-generation.js'

/**
 * Returns a call as `GET /generation` shows it: OpenRouter's fields, whose amounts are numbers, and the router's own,
 * whose amounts are exact. Unknown fields are null.
 */
export function generationObject(found: Generation) {
  const { charge, facts, id, isPending, kept, operation, refunded, startedAt } = found
  const cost = charge === undefined ? 0 : creditsToNumber(charge.cost)
  return {
    id,
    request_id: facts?.requestId ?? kept?.requestId ?? null,
    upstream_id: kept?.upstreamId ?? null,
    model: facts?.model ?? kept?.askedModel ?? '',
    provider_name: facts?.provider ?? null,
    api_type: operation === 'embeddings' ? 'embeddings' : 'completions',
    created_at: new Date(startedAt).toISOString(),
    total_cost: cost,
    usage: cost,
    is_byok: charge?.byok ?? false,
    ...tokensOf(charge),
    latency: kept === undefined ? null : whole(kept.durationMs),
    generation_time: kept?.providerMs === undefined ? null : whole(kept.providerMs),
    finish_reason: kept?.finishReason ?? null,
    native_finish_reason: kept?.nativeFinishReason ?? null,
    streamed: kept?.stream ?? null,
    cancelled: kept === undefined ? null : kept.outcome === 'client-left',
    session_id: facts?.sessionId ?? null,
    external_user: facts?.user ?? null,
    ...NO_COUNTERPART,
    pending: isPending,
    operation: operation ?? null,
    outcome: isPending ? null : (kept?.outcome ?? null),
    status: isPending ? null : (kept?.status ?? null),
    first_token_ms: kept?.firstTokenMs === undefined ? null : whole(kept.firstTokenMs),
    credential_id: facts?.credentialId ?? kept?.caller?.credentialId ?? null,
    app: facts?.appId ?? kept?.caller?.appId ?? null,
    ...costOf(found),
    refunded: formatCredits(refunded),
  }
}

/** Fields that OpenRouter's clients require, for things that this router does not have. */
const NO_COUNTERPART = {
  app_id: null,
  cache_discount: null,
  data_region: 'global',
  http_referer: null,
  moderation_latency: null,
  num_fetches: null,
  num_input_audio_prompt: null,
  num_media_completion: null,
  num_media_prompt: null,
  num_search_results: null,
  origin: '',
  preset_id: null,
  provider_responses: null,
  router: null,
  service_tier: null,
  upstream_inference_cost: null,
  user_agent: null,
  web_search_engine: null,
  workspace_id: null,
} as const

function tokensOf(charge: Charge | undefined) {
  const usage = charge?.usage
  return {
    tokens_prompt: usage?.prompt ?? null,
    tokens_completion: usage?.completion ?? null,
    native_tokens_prompt: usage?.prompt ?? null,
    native_tokens_completion: usage?.completion ?? null,
    native_tokens_cached: usage?.cached ?? null,
    native_tokens_reasoning: usage?.reasoning ?? null,
    native_tokens_completion_images: (usage && mediaCount(usage, 'imageOutput')) ?? null,
    tokens_cache_write: usage?.cacheWrite ?? null,
  }
}

/** Returns the exact cost and its parts: null while they are unknown, 0 if nothing was charged. */
function costOf({ charge, isPending }: Generation) {
  if (charge !== undefined) {
    const { base, basis, cost, markup } = charge
    return {
      cost: formatCredits(cost),
      base_cost: formatCredits(base),
      markup_cost: formatCredits(markup),
      basis,
    }
  }
  const nothing = isPending ? null : '0'
  return { cost: nothing, base_cost: nothing, markup_cost: nothing, basis: null }
}

function whole(ms: number): number {
  return Math.max(0, Math.round(ms))
}
