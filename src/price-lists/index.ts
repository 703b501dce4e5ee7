export type { GenaiModel } from './genai-model.js'
export {
  catalogueFromGenaiPrices,
  type GenaiProvider,
  type PriceListEntry,
  type PriceListOptions,
  type PriceListProblem,
} from './genai-prices.js'
