import { z } from 'zod'
import type { Model } from '../contracts/index.js'
import { momentSchema, parseInput } from '../contracts/schemas.js'
import { Unreadable } from './amount.js'
import { type GenaiModel, readModel } from './genai-model.js'

/** A provider as `@pydantic/genai-prices` lists it; what more it has is not read. */
export interface GenaiProvider {
  readonly id: string
  readonly models: readonly GenaiModel[]
}

/** A model of a price list, for choosing and naming. */
export interface PriceListEntry {
  readonly provider: string
  readonly model: string
  readonly deprecated: boolean
}

export interface PriceListOptions {
  /** Which entries to read. All by default. */
  readonly filter?: (entry: PriceListEntry) => boolean
  /** Names the model for the catalogue. `provider/model` by default. */
  readonly id?: (entry: PriceListEntry) => string
  /** Milliseconds since the Unix epoch: the day whose prices count. Now by default. */
  readonly at?: number
}

const isFunction = (value: unknown): boolean => typeof value === 'function'
const optionsSchema = z.strictObject({
  filter: z.custom<NonNullable<PriceListOptions['filter']>>(isFunction, 'must be a function').optional(),
  id: z.custom<NonNullable<PriceListOptions['id']>>(isFunction, 'must be a function').optional(),
  at: momentSchema.optional(),
})

/** Something that the catalogue does not have from the list. */
export interface PriceListProblem {
  readonly id: string
  readonly why: string
  /** Whether the model was left out. If not, it is in `models`, and `why` says what it is without. */
  readonly omitted: boolean
}

/**
 * Reads a catalogue from the price list of `@pydantic/genai-prices`, taking one US dollar for one credit and adding
 * nothing: `catalogueFromGenaiPrices(await waitForUpdate())` for the whole list,
 * `catalogueFromGenaiPrices(findProvider({ providerId: 'openai' }))` for one provider.
 *
 * Prices are the exact decimals that the list has. A model with a price that is missing, inexact or different by the
 * hour is left out; one with units that a catalogue has no price for (audio, images, searches, longer cache times) is
 * read without them. `problems` names both. Free models are left out too where the list does not write their zero.
 *
 * The prices are those of one day: read the list again to follow it. Throws a `TypeError` for what is no such list, and
 * for an option that cannot be meant.
 */
export function catalogueFromGenaiPrices(
  list: GenaiProvider | readonly GenaiProvider[] | null | undefined,
  options: PriceListOptions = {},
): { models: Model[]; problems: PriceListProblem[] } {
  const {
    filter = () => true,
    id: nameOf = ({ provider, model }: PriceListEntry) => `${provider}/${model}`,
    at = Date.now(),
  } = parseInput(optionsSchema, options, 'catalogueFromGenaiPrices')
  const models = new Map<string, Model>()
  const problems: PriceListProblem[] = []
  for (const provider of readProviders(list)) {
    for (const [position, listed] of provider.models.entries()) {
      if (typeof listed?.id !== 'string') {
        const why = `models.${position} of the list has no id`
        problems.push({ id: provider.id, why, omitted: true })
        continue
      }
      const entry = { provider: provider.id, model: listed.id, deprecated: listed.deprecated === true }
      if (!filter(entry)) continue
      const id = nameOf(entry)
      try {
        if (models.has(id)) throw new Unreadable('the list has it twice; the first counts')
        const { model, without } = readModel(id, entry.provider, listed, at)
        models.set(id, model)
        if (without.length > 0) {
          problems.push({ id, why: `read without ${without.join(', ')}`, omitted: false })
        }
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error
        problems.push({ id, why: error.message, omitted: true })
      }
    }
  }
  return { models: [...models.values()], problems }
}

function readProviders(list: unknown): readonly GenaiProvider[] {
  const providers: readonly unknown[] = Array.isArray(list) ? list : [list]
  for (const provider of providers) {
    const { id, models } = (provider ?? {}) as Partial<GenaiProvider>
    if (typeof id !== 'string' || !Array.isArray(models)) {
      throw new TypeError(
        'The price list must be a provider, or an array of providers, as @pydantic/genai-prices has them: ' +
          "await waitForUpdate(), or findProvider({ providerId: 'openai' })",
      )
    }
  }
  return providers as readonly GenaiProvider[]
}
