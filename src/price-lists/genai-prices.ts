import { OptionsError } from '../base/options-error.js'
import type { Model } from '../contracts/index.js'
import { functionSchema, optionsSchema, readOptions } from '../rules/read-options.js'
import { momentSchema } from '../rules/schemas.js'
import { Unreadable } from './amount.js'
import { type GenaiModel, readModel } from './genai-model.js'

/** A provider as `@pydantic/genai-prices` lists it. Other members are ignored. */
export interface GenaiProvider {
  readonly id: string
  readonly models: readonly GenaiModel[]
}

/** A model of a price list, as `filter` and `id` receive it. */
export interface PriceListEntry {
  readonly provider: string
  readonly model: string
  readonly deprecated: boolean
}

export interface PriceListOptions {
  /** Returns whether to read an entry. By default, all are read. */
  readonly filter?: (entry: PriceListEntry) => boolean
  /** Returns the id of the model in the catalogue. `provider/model` by default. */
  readonly id?: (entry: PriceListEntry) => string
  /** The time whose prices apply, in milliseconds since the Unix epoch. Now by default. */
  readonly at?: number
}

const listOptions = optionsSchema<PriceListOptions>({
  filter: functionSchema<NonNullable<PriceListOptions['filter']>>().optional(),
  id: functionSchema<NonNullable<PriceListOptions['id']>>().optional(),
  at: momentSchema.optional(),
})

/** A part of the list that the catalogue does not contain. */
export interface PriceListProblem {
  readonly id: string
  readonly why: string
  /** Whether the model was omitted. If not, it is in `models`, and `why` names the missing parts. */
  readonly omitted: boolean
}

/**
 * Reads a catalogue from the price list of `@pydantic/genai-prices`. One US dollar is one credit, and nothing is added.
 * `catalogueFromGenaiPrices(await waitForUpdate())` reads the whole list,
 * `catalogueFromGenaiPrices(findProvider({ providerId: 'openai' }))` one provider.
 *
 * Prices are the exact decimals of the list. A model is left out if its price is missing, inexact or depends on the hour;
 * a free model is left out too unless the list states its zero. Units that have no price in a catalogue (videos, cached
 * audio and images, searches, longer cache times) are left out of their model. `problems` lists all of these.
 *
 * The prices are those of one time: read the list again to update them. Throws an `OptionsError` if the list or an option
 * is invalid.
 */
export function catalogueFromGenaiPrices(
  list: GenaiProvider | readonly GenaiProvider[] | null | undefined,
  options: PriceListOptions = {},
): { models: Model[]; problems: PriceListProblem[] } {
  const {
    filter = () => true,
    id: nameOf = ({ provider, model }: PriceListEntry) => `${provider}/${model}`,
    at = Date.now(),
  } = readOptions(listOptions, options, 'catalogueFromGenaiPrices')
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
        if (models.has(id)) throw new Unreadable('its id is a duplicate; the first one was used')
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
      throw new OptionsError({
        code: 'invalid_option',
        where: 'catalogueFromGenaiPrices',
        field: 'list',
        problem:
          'must be a provider, or an array of providers, as @pydantic/genai-prices has them: ' +
          "await waitForUpdate(), or findProvider({ providerId: 'openai' })",
      })
    }
  }
  return providers as readonly GenaiProvider[]
}
