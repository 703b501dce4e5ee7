import type { Model, Prices } from '../contracts/index.js'

/** In credits per million tokens, by the stand-in's name of the model. */
const PRICES: Readonly<Record<string, Prices>> = {
  'demo-small': { input: '0.15', cachedInput: '0.075', output: '0.60' },
  'demo-large': { input: '2.50', cachedInput: '1.25', output: '10' },
}

/** The models of the demo, by the stand-in's name of each: `demo/small` and `demo/large`. */
export const demoModels: ReadonlyMap<string, Pick<Model, 'id'> & { readonly prices: Prices }> = new Map(
  Object.entries(PRICES).map(([upstreamModel, prices]) => [
    upstreamModel,
    { id: upstreamModel.replace('-', '/'), prices },
  ]),
)

/** The account that pays, and its credits. */
export const DEMO_ACCOUNT = { id: 'alice', credits: '5' } as const
