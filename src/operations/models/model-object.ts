import type { Price, Prices } from '../../base/prices.js'

/** The fields of a catalogue's model that are sent to clients. The catalogue's own `Model` is assignable to it. */
export interface ListedModel {
  readonly id: string
  readonly created: number
  readonly ownedBy: string
  readonly root?: string
  readonly parent?: string | null
  readonly name?: string
  readonly description?: string
  readonly contextLength?: number
  readonly maxOutputTokens?: number
  readonly supportedParameters?: readonly string[]
  readonly modalities?: readonly string[]
  readonly prices?: Prices
}

/** Returns a model as `GET /models/{model_key}` shows it. Fields that the catalogue does not have are left out. */
export function modelObject(model: ListedModel) {
  return {
    id: model.id,
    object: 'model' as const,
    created: model.created,
    owned_by: model.ownedBy,
    root: model.root ?? model.id,
    parent: model.parent ?? null,
    name: model.name,
    description: model.description,
    context_length: model.contextLength,
    max_output_tokens: model.maxOutputTokens,
    supported_parameters: model.supportedParameters,
    modalities: model.modalities,
    pricing: model.prices && priceList({ ...NO_PRICES, ...model.prices }),
  }
}

/** Returns the answer of `GET /models`. */
export function modelList(models: readonly ListedModel[]) {
  return { object: 'list' as const, data: models.map(modelObject) }
}

/** Without these fields, an absent price could be read from `Object.prototype`. */
const NO_PRICES = {
  cachedInput: undefined,
  cacheWrite: undefined,
  reasoning: undefined,
  audioInput: undefined,
  audioOutput: undefined,
  imageInput: undefined,
  imageOutput: undefined,
  request: undefined,
  tiers: undefined,
}

function priceList(prices: Prices) {
  return {
    ...priceObject(prices),
    tiers: prices.tiers?.map((tier) => ({ above: tier.above, ...priceObject({ ...NO_PRICES, ...tier }) })),
  }
}

/** Copies each field by name, because a host's rows may contain fields that clients must not see. */
function priceObject(price: Price) {
  return {
    input: price.input,
    output: price.output,
    cachedInput: price.cachedInput,
    cacheWrite: price.cacheWrite,
    reasoning: price.reasoning,
    audioInput: price.audioInput,
    audioOutput: price.audioOutput,
    imageInput: price.imageInput,
    imageOutput: price.imageOutput,
    request: price.request,
  }
}
