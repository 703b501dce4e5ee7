import type { Awaitable, CallContext, Watch } from './context.js'

/** Which models are offered, and at which prices. */
export interface CatalogueStore {
  /** All models. A throw means 503 `catalogue_unavailable`. */
  list(context: CallContext): Awaitable<readonly Model[]>
  /** The model with exactly this id, or undefined. */
  get(id: string, context: CallContext): Awaitable<Model | undefined>
  /** Reports models that changed, by id, so that caches drop them. */
  watch?: Watch
}

export interface Model {
  /** What a client sends as `model`, often with a slash. */
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  readonly ownedBy: string
  readonly root?: string
  readonly parent?: string | null
  readonly name?: string
  readonly description?: string
  /** Tokens. */
  readonly contextLength?: number
  /** Tokens. */
  readonly maxOutputTokens?: number
  /** Where given, a request with another optional parameter is refused before anything is charged. */
  readonly supportedParameters?: readonly string[]
  readonly modalities?: readonly string[]
  /** A model without prices is listed but refused, with 500 `price_missing`. */
  readonly prices?: Prices
  /** Recorded with every charge. */
  readonly priceVersion?: string
}

/** Decimal strings of at most nine places, in credits per million tokens; `request` in credits per call. */
export interface Price {
  readonly input: string
  readonly output: string
  /** Input read from the provider's cache. `input` by default. */
  readonly cachedInput?: string
  /** Input written to the provider's cache. `input` by default. */
  readonly cacheWrite?: string
  /** `output` by default. */
  readonly reasoning?: string
  /** `'0'` by default. */
  readonly request?: string
}

export interface Prices extends Price {
  /** Where the prompt has more than `above` tokens, the whole call has that tier's prices; the highest such tier counts. */
  readonly tiers?: readonly (Price & { readonly above: number })[]
}
