import type { Price, Prices } from '../base/prices.js'
import type { Awaitable, CallContext, Watch } from './context.js'

export type { Price, Prices }

/** The models on offer, with their prices. */
export interface CatalogueStore {
  /** Returns all models. A throw means 503 `catalogue_unavailable`. */
  list(context: CallContext): Awaitable<readonly Model[]>
  /** Returns the model with exactly this id, or undefined. */
  get(id: string, context: CallContext): Awaitable<Model | undefined>
  /** Reports models that changed, by id, so that caches drop them. */
  watch?: Watch
}

export interface Model {
  /** The value that clients send as `model`, often with a slash. */
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  readonly ownedBy: string
  readonly root?: string
  readonly parent?: string | null
  readonly name?: string
  readonly description?: string
  /** In tokens. */
  readonly contextLength?: number
  /** In tokens. */
  readonly maxOutputTokens?: number
  /**
   * The output limit that the router sends for a call that sets none. It sends one only if the caller has a budget, the
   * host set `neverOverdraw`, or the provider's API requires a limit. The hold of the call covers it.
   *
   * By default it is `charging.holdOutputTokens`, or more, up to `maxOutputTokens`, if a quarter of the free credit pays
   * for more. If the credit is too low, the limit is lower, but never below 256.
   */
  readonly defaultOutputTokens?: number
  /**
   * The most tokens of one image, recording or video, or of each kind. A hold covers this many for each; see
   * docs/charging.md.
   */
  readonly mediaTokens?: number | MediaTokens
  /**
   * The most tokens that a provider adds to the text of a prompt, for example for a chat template and instructions for
   * tools. Under `neverOverdraw` a hold covers them instead of the default: 200 tokens a request, and 700 more with tools
   * or a schema.
   */
  readonly promptOverhead?: number
  /**
   * The greatest length of an embedding. It bounds the size of a reply with embeddings. 4,096 if absent. A request's own
   * `dimensions` take precedence.
   */
  readonly dimensions?: number
  /** If set, a request with any other optional parameter is refused before anything is charged. */
  readonly supportedParameters?: readonly string[]
  /**
   * The operations that the model can be used with, by name, such as `chat`. If absent, all that its routes serve. A
   * request for another one is refused with 400 `invalid_request`.
   */
  readonly operations?: readonly string[]
  readonly modalities?: readonly string[]
  /** A model without prices is listed but refused, with 500 `price_missing`. */
  readonly prices?: Prices
  /** Recorded with every charge. */
  readonly priceVersion?: string
}

/** The most tokens of one file of each kind. */
export interface MediaTokens {
  readonly image?: number
  readonly audio?: number
  readonly video?: number
  readonly pdf?: number
  /** ZIP, gzip, 7z, RAR and tar, Office files and EPUB. */
  readonly archive?: number
}
