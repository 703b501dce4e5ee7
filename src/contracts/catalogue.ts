import type { Price, Prices } from '../base/prices.js'
import type { Awaitable, CallContext, Watch } from './context.js'

export type { Price, Prices }

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
  /** Tokens of one image, file, recording or video at most. A hold covers as many for each; see docs/charging.md. */
  readonly mediaTokens?: number
  /**
   * Tokens that a provider adds to the text of a prompt at most, such as those of a chat template and of its instructions
   * for tools. Takes the place of the 200 tokens a request, and 700 more with tools or a schema, that a hold covers under
   * `neverOverdraw`.
   */
  readonly promptOverhead?: number
  /** Where given, a request with another optional parameter is refused before anything is charged. */
  readonly supportedParameters?: readonly string[]
  /**
   * The operations that the model can be used with, by name: `chat`. If absent, all that its routes serve. A request for
   * another one is refused with 400 `invalid_request`.
   */
  readonly operations?: readonly string[]
  readonly modalities?: readonly string[]
  /** A model without prices is listed but refused, with 500 `price_missing`. */
  readonly prices?: Prices
  /** Recorded with every charge. */
  readonly priceVersion?: string
}
