import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { CompatError } from '../../base/errors.js'
import { type MarkupTerms, NO_MARKUP, parseMarkup } from '../../base/prices.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Principal } from '../../contracts/credentials.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { ModelOperation } from '../../contracts/operation.js'
import { authoriseKeyModel, isHiddenFrom } from '../../engine/admission/authorise.js'
import { listsOperation, lookUpModel } from '../../engine/admission/find-model.js'
import { type Faulty, faultyModel, readModels } from '../../engine/admission/read-model.js'
import type { LazyContext } from '../../engine/asking/lazy-context.js'
import { askStore } from '../../engine/asking/stores.js'
import { eventError } from '../../engine/events/event-error.js'
import { findRoutes } from '../../engine/routing/route-choice.js'
import { modelNotFound } from '../../protocol/model-key.js'
import { joined, jsonBytes, type WireBytes, wire } from '../../protocol/wire-bytes.js'
import { type ListedModel, parametersOf } from './model-object.js'

/** The number of markups that have cached bodies, and the most characters of all of them together. */
const KEPT_MARKUPS = 100
const KEPT_CHARS = 67_108_864
/**
 * The position of the models in their envelope. No value can contain this text, since quotation marks in values are
 * escaped.
 */
const PLACE = '"data":[]'
const COMMA = wire(',')
/** How long to remember whether a model's routes serve an operation, since anybody may ask for the whole list. */
const KEPT_MS = 5_000
const KEPT_ANSWERS = 10_000

/** How to show models to the clients of one API, with the prices that a caller pays. */
export interface ModelShapes {
  one(model: ListedModel, markup: MarkupTerms): object
  /** Returns the envelope around the models of a list. */
  list(models: readonly ListedModel[]): { readonly data: readonly [] }
}

/** A body, with its tag if it is cached. */
export interface ModelsBody {
  readonly bytes: WireBytes
  readonly etag?: string
}

/** A whole list with one markup, and the part of each model. */
interface WrittenList extends ModelsBody {
  readonly parts: ReadonlyMap<Model, WireBytes>
}

/** Writes the bodies of `GET /models` and `GET /models/{model_key}`. */
export class ModelReplies {
  /** The list that the cached bodies show, as given and as read. */
  private listed: { readonly given: readonly Model[]; readonly models: readonly Model[] } | undefined
  /** By markup. */
  private readonly lists = new LRUCache<string, WrittenList>({
    max: KEPT_MARKUPS,
    maxSize: KEPT_CHARS,
    // The parts have about as many characters again.
    sizeCalculation: ({ bytes }) => 2 * bytes.length,
  })
  /** By operation and model. */
  private readonly served = new LRUCache<string, boolean>({ max: KEPT_ANSWERS, ttl: KEPT_MS })

  constructor(
    private readonly options: EngineOptions,
    private readonly operations: readonly ModelOperation[],
    private readonly shapes: ModelShapes,
  ) {}

  /**
   * Writes each model once for each markup while the catalogue returns the same frozen list, as caches and the memory
   * catalogue do until it changes. Anybody may ask for a long list again and again. A list that a query or the API key
   * narrows is assembled from these parts.
   */
  async list(query: string, context: LazyContext, principal?: Principal): Promise<ModelsBody> {
    const { options } = this
    const filter = readFilter(query, this.operations)
    const faulty = faultyModel(options, context)
    const models = await this.models(context, faulty)
    const markup = markupOf(principal)
    const isNarrowed = principal?.kind === 'api-key' && principal.allowedModels !== undefined
    const visible = isNarrowed ? models.filter(({ id }) => !isHiddenFrom(principal, id)) : models
    const shown = filter === undefined ? visible : await this.matching(visible, filter, context)
    const written = this.written(models, markup, faulty)
    if (shown === models && written !== undefined) return written
    return { bytes: this.bodyOf(written?.parts ?? this.partsOf(shown, markup, faulty), shown) }
  }

  private async models(context: LazyContext, faulty: Faulty): Promise<readonly Model[]> {
    const { options } = this
    const models = await askStore('catalogue', options, context, () => options.catalogue.list(context))
    if (!Array.isArray(models)) throw faulty('list() did not return a list')
    if (this.listed?.given === models) return this.listed.models
    const read = readModels(models, faulty)
    this.lists.clear()
    this.listed = isFixed(models, read) ? { given: models, models: read } : undefined
    return read
  }

  /** Returns the cached list. Undefined if its contents may change. */
  private written(models: readonly Model[], markup: MarkupTerms, faulty: Faulty): WrittenList | undefined {
    if (this.listed?.models !== models) return undefined
    const key = `${markup.basisPoints} ${markup.flat}`
    let list = this.lists.get(key)
    if (list === undefined) {
      const parts = this.partsOf(models, markup, faulty)
      const bytes = this.bodyOf(parts)
      const etag = `"${createHash('sha256').update(bytes, 'latin1').digest('base64url').slice(0, 22)}"`
      list = { parts, bytes, etag }
      this.lists.set(key, list)
    }
    return list
  }

  /** Looks up `key` unchanged, then decoded once, then both without leading slashes. */
  async one(key: string, context: LazyContext, principal?: Principal): Promise<ModelsBody> {
    for (const spelling of spellingsOf(key)) {
      const model = await lookUpModel(spelling, context, this.options)
      if (model === undefined) continue
      if (principal !== undefined) authoriseKeyModel(principal, model.id)
      return { bytes: this.partOf(model, markupOf(principal)) }
    }
    throw modelNotFound(decodeOnce(key) ?? key)
  }

  private partOf(model: Model, markup: MarkupTerms): WireBytes {
    return jsonBytes(this.shapes.one(model, markup))
  }

  /** Leaves out and reports models that cannot be written, such as those with a bigint in `created`. */
  private partsOf(
    models: readonly Model[],
    markup: MarkupTerms,
    faulty: Faulty,
  ): ReadonlyMap<Model, WireBytes> {
    const parts = new Map<Model, WireBytes>()
    for (const model of models) {
      try {
        parts.set(model, this.partOf(model, markup))
      } catch (error) {
        faulty(`the model '${model.id}' cannot be listed (${eventError(error).message})`)
      }
    }
    return parts
  }

  /** Writes the models that have a part, or those of them that are shown. */
  private bodyOf(
    parts: ReadonlyMap<Model, WireBytes>,
    shown: readonly Model[] = [...parts.keys()],
  ): WireBytes {
    const models = shown.filter((model) => parts.has(model))
    const written = models.flatMap((model) => parts.get(model) ?? [])
    const around = jsonBytes(this.shapes.list(models))
    const place = around.indexOf(PLACE)
    const data = wire(`"data":[${joined(written, COMMA)}]`)
    return joined([around.slice(0, place), data, around.slice(place + PLACE.length)])
  }

  private async matching(
    models: readonly Model[],
    filter: ModelFilter,
    context: LazyContext,
  ): Promise<readonly Model[]> {
    const taking = models.filter((model) => takesParameters(model, filter))
    const { operation } = filter
    if (operation === undefined) return taking
    const serves = await Promise.all(taking.map((model) => this.serves(model, operation, context)))
    return taking.filter((_model, position) => serves[position])
  }

  /** Whether a model serves an operation: as its catalogue entry says, or otherwise if any of its routes does. */
  private async serves(model: Model, operation: ModelOperation, context: LazyContext): Promise<boolean> {
    const isListed = listsOperation(model, operation)
    if (isListed !== undefined) return isListed
    const key = JSON.stringify([operation.name, model.id])
    const known = this.served.get(key)
    if (known !== undefined) return known
    const { options } = this
    const routes = await findRoutes(model, context, options)
    const serves = routes.some((route) => route.enabled !== false && operation.isServedBy(route.adapter))
    this.served.set(key, serves)
    return serves
  }
}

function markupOf(principal: Principal | undefined): MarkupTerms {
  return principal?.kind === 'access-token' ? parseMarkup(principal.app.markup) : NO_MARKUP
}

/** Whether nothing in a list, as given and as read, can change. */
function isFixed(given: readonly Model[], models: readonly Model[]): boolean {
  return Object.isFrozen(given) && models.every((model) => partsOf(model).every(Object.isFrozen))
}

function partsOf(model: Model): readonly unknown[] {
  const { modalities, operations, prices, supportedParameters } = model
  const tiers: unknown = prices?.tiers
  const lists = [modalities, operations, supportedParameters]
  return [model, ...lists, prices, tiers, ...(Array.isArray(tiers) ? tiers : [])]
}

function spellingsOf(key: string): ReadonlySet<string> {
  const plain = key.replace(/^\/+/, '')
  return new Set([key, decodeOnce(key) ?? key, plain, decodeOnce(plain) ?? plain])
}

/** Returns the key decoded once. Undefined if it has no escapes or a malformed one. */
function decodeOnce(key: string): string | undefined {
  if (!key.includes('%')) return undefined
  try {
    return decodeURIComponent(key)
  } catch {
    return undefined
  }
}

/** The models that a client asks for in the query of `GET /models`. */
interface ModelFilter {
  /** Selects models that accept all of these. Empty for any. */
  readonly parameters: readonly string[]
  /** Selects models that serve this operation. */
  readonly operation: ModelOperation | undefined
}

/**
 * Reads `supported_parameters`, a comma-separated list, and `operation` from a query. Returns undefined if it has
 * neither. Ignores all other fields, since model pickers send some. Throws a 400 `invalid_request` for an operation
 * that the router does not have.
 */
function readFilter(query: string, operations: readonly ModelOperation[]): ModelFilter | undefined {
  if (query === '') return undefined
  const fields = new URLSearchParams(query)
  const parameters = fields.getAll('supported_parameters').flatMap((text) => text.split(',').filter(Boolean))
  const name = fields.get('operation') ?? undefined
  if (parameters.length === 0 && name === undefined) return undefined
  const operation = operations.find((each) => each.name === name)
  if (name !== undefined && operation === undefined) {
    throw new CompatError(
      'invalid_request',
      `operation must be ${operations.map((each) => each.name).join(' or ')}.`,
      { param: 'operation' },
    )
  }
  return { parameters, operation }
}

/** Whether a model accepts all parameters of a filter. */
function takesParameters(model: Model, { parameters }: ModelFilter): boolean {
  if (parameters.length === 0) return true
  const taken = new Set(parametersOf(model))
  return parameters.every((name) => taken.has(name))
}
