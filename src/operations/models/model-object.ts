import { type MarkupTerms, NO_MARKUP, type Prices } from '../../base/prices.js'
import { KNOWN_FIELDS } from '../../protocol/request-fields/known-fields.js'
import { callerPrices, NO_PRICES } from './caller-prices.js'

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
  readonly operations?: readonly string[]
  readonly modalities?: readonly string[]
  readonly prices?: Prices
}

/** The parameters of a model whose catalogue entry does not list them: everything that changes a reply. */
const KNOWN_PARAMETERS: readonly string[] = [...KNOWN_FIELDS]
  .filter(([, field]) => field.isDropped !== true)
  .map(([name]) => name)

/**
 * Returns a model as `GET /models/{model_key}` shows it. The fields of OpenRouter's list that model pickers and its SDK
 * require are always present. Other fields are omitted if the catalogue does not have them.
 */
export function modelObject(model: ListedModel, markup: MarkupTerms = NO_MARKUP) {
  const inputs = model.modalities ?? ['text']
  const outputs = outputsOf(model)
  return {
    id: model.id,
    object: 'model' as const,
    created: model.created,
    owned_by: model.ownedBy,
    root: model.root ?? model.id,
    parent: model.parent ?? null,
    canonical_slug: model.id,
    name: model.name ?? model.id,
    description: model.description ?? '',
    context_length: model.contextLength ?? null,
    max_output_tokens: model.maxOutputTokens,
    supported_parameters: parametersOf(model),
    operations: model.operations,
    modalities: model.modalities,
    architecture: {
      modality: `${inputs.join('+')}->${outputs.join('+')}`,
      input_modalities: inputs,
      output_modalities: outputs,
    },
    top_provider: {
      context_length: model.contextLength ?? null,
      max_completion_tokens: model.maxOutputTokens ?? null,
      is_moderated: false,
    },
    pricing: model.prices === undefined ? NO_PRICES : callerPrices(model.prices, markup),
    per_request_limits: null,
    default_parameters: null,
    supported_voices: null,
    links: { details: `/models/${model.id}` },
  }
}

/** Returns the envelope of the list in `GET /models`. */
export function modelList(models: readonly ListedModel[]) {
  return {
    object: 'list' as const,
    data: [] as const,
    links: { next: null },
    total_count: models.length,
  }
}

/** Returns the parameters that a model accepts: those in its catalogue entry, or all that the router knows. */
export function parametersOf({ operations, supportedParameters }: ListedModel): readonly string[] {
  if (supportedParameters !== undefined) return supportedParameters
  return isChat(operations) ? KNOWN_PARAMETERS : []
}

function outputsOf({ operations }: ListedModel): readonly string[] {
  return isChat(operations) ? ['text'] : ['embeddings']
}

/** Whether a model writes replies. A model without a list of operations is assumed to do so. */
function isChat(operations: readonly string[] | undefined): boolean {
  return operations === undefined || operations.some((name) => name !== 'embeddings')
}
