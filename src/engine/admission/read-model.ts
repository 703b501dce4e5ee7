import type { CompatError } from '../../base/errors.js'
import type { Model } from '../../contracts/catalogue.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import { isObject } from '../../protocol/json-values.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { faultyStore } from '../failures/store-failures.js'

/** Reports a model that broke the catalogue's contract, and returns the error for the client. */
export type Faulty = (why: string) => CompatError

export function faultyModel(options: Pick<EngineOptions, 'emit'>, { requestId }: LazyContext): Faulty {
  return (why) => faultyStore('catalogue', options, requestId, why)
}

/**
 * Reads the rows of a list like single models. Reports each row that is none and leaves it out: one wrong row must not
 * hide the others. Returns the list itself if nothing in it has to change.
 */
export function readModels(models: readonly Model[], faulty: Faulty): readonly Model[] {
  const read = models.flatMap((model, position) => {
    if (!isObject(model) || typeof model.id !== 'string') {
      faulty(`row ${position} of list() is not a model with an id`)
      return []
    }
    try {
      return readModel(model, faulty)
    } catch {
      return []
    }
  })
  const isSame = read.length === models.length && read.every((model, position) => model === models[position])
  return isSame ? models : read
}

const TOKENS = 'a whole number of tokens above 0'
const FILE_KINDS = ['image', 'audio', 'video', 'pdf', 'archive']

/**
 * Checks the members that bound and price calls. Prices themselves are checked when they are read. A null, as database
 * rows have it, counts as absent.
 */
export function readModel(model: Model, faulty: Faulty): Model {
  const fault = (field: string, wanted: string): CompatError =>
    faulty(`${field} of the model '${model.id}' is not ${wanted}`)
  const {
    contextLength,
    defaultOutputTokens,
    dimensions,
    maxOutputTokens,
    mediaTokens,
    prices,
    priceVersion,
    promptOverhead,
    operations,
    supportedParameters,
  } = model
  if (!isLeftOut(contextLength) && !isTokens(contextLength)) throw fault('contextLength', TOKENS)
  if (!isLeftOut(maxOutputTokens) && !isTokens(maxOutputTokens)) throw fault('maxOutputTokens', TOKENS)
  if (!isLeftOut(defaultOutputTokens) && !isTokens(defaultOutputTokens))
    throw fault('defaultOutputTokens', TOKENS)
  if (!isLeftOut(mediaTokens) && !isTokens(mediaTokens) && !areKindsTokens(mediaTokens))
    throw fault('mediaTokens', `${TOKENS}, or an object with such numbers for ${FILE_KINDS.join(', ')}`)
  if (!isLeftOut(promptOverhead) && promptOverhead !== 0 && !isTokens(promptOverhead))
    throw fault('promptOverhead', 'a whole number of tokens from 0 up')
  if (!isLeftOut(dimensions) && !isTokens(dimensions)) throw fault('dimensions', 'a whole number above 0')
  if (!isLeftOut(supportedParameters) && !areTexts(supportedParameters))
    throw fault('supportedParameters', 'a list of strings')
  if (!isLeftOut(operations) && !areTexts(operations)) throw fault('operations', 'a list of strings')
  if (!isLeftOut(priceVersion) && typeof priceVersion !== 'string') throw fault('priceVersion', 'a string')
  const hasNull =
    contextLength === null ||
    maxOutputTokens === null ||
    defaultOutputTokens === null ||
    mediaTokens === null ||
    promptOverhead === null ||
    dimensions === null ||
    operations === null ||
    supportedParameters === null ||
    prices === null ||
    priceVersion === null
  return hasNull ? withoutNulls(model) : model
}

function withoutNulls(model: Model): Model {
  const nulls = Object.entries(model).filter(([, value]) => value === null)
  return { ...model, ...Object.fromEntries(nulls.map(([name]) => [name, undefined])) }
}

function isLeftOut(value: unknown): value is null | undefined {
  return value === undefined || value === null
}

function isTokens(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0
}

function areKindsTokens(value: unknown): boolean {
  return (
    isObject(value) &&
    Object.keys(value).every(
      (kind) => FILE_KINDS.includes(kind) && (isLeftOut(value[kind]) || isTokens(value[kind])),
    )
  )
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
