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
   * The output limit of a call that sets none, if the router must send one because its caller has a budget, the host
   * set `neverOverdraw`, or the provider's API requires one. A hold covers this limit too. Defaults to
   * `charging.holdOutputTokens`, and up to `maxOutputTokens` as far as a quarter of the credit covers. A call with less
   * credit gets less, at least 256.
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
   * The maximum number of numbers in an embedding. A reply with embeddings may take as many bytes as the numbers of the
   * batch need. 4,096 if absent. A request's own `dimensions` take precedence.
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
