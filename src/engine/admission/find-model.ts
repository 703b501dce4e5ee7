import { CompatError } from '../../base/errors.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Awaitable } from '../../contracts/context.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { Operation } from '../../contracts/operation.js'
import { isObject } from '../../protocol/json-values.js'
import { isModelKey, modelNotFound } from '../../protocol/model-key.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { askStore } from '../asking/stores.js'
import { andThen } from '../asking/within.js'
import { faultyStore } from '../failures/store-failures.js'

/** Returns the model with exactly this id. Throws a 404 if there is none. */
export function findModel(key: string, context: LazyContext, options: EngineOptions): Awaitable<Model> {
  return andThen(lookUpModel(key, context, options), (model) => {
    if (model === undefined) throw modelNotFound(key)
    return model
  })
}

/** Returns the model with exactly this id, or undefined. Never asks the catalogue for an id that no model can have. */
export function lookUpModel(
  key: string,
  context: LazyContext,
  options: EngineOptions,
): Awaitable<Model | undefined> {
  if (!isModelKey(key)) return undefined
  const answer = askStore('catalogue', options, context, () => options.catalogue.get(key, context))
  return andThen(answer, (model) => {
    if (model?.id !== key) return undefined
    return readModel(model, (field, wanted) => {
      const why = `${field} of the model '${key}' is not ${wanted}`
      return faultyStore('catalogue', options, context.requestId, why)
    })
  })
}

const TOKENS = 'a whole number of tokens above 0'
const FILE_KINDS = ['image', 'audio', 'video', 'pdf', 'archive']

/**
 * Checks the members that bound and price calls. Prices themselves are checked when they are read. A null, as database
 * rows have it, counts as absent.
 */
function readModel(model: Model, fault: (field: string, wanted: string) => CompatError): Model {
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

/** Whether a model's catalogue entry lists an operation. Undefined if the entry has no list. */
export function listsOperation(
  { operations }: Model,
  { modelOperation, name }: Operation,
): boolean | undefined {
  return operations?.includes(modelOperation ?? name)
}

/** Refuses a model whose catalogue entry lists operations but not this one. */
export function checkOperation(operation: Operation, model: Model): void {
  if (listsOperation(model, operation) === false) throw notServed(operation, model)
}

/** The 400 for a model that does not serve an operation. */
export function notServed({ path }: Operation, { id }: Model): CompatError {
  return new CompatError('invalid_request', `The model '${id}' cannot be used with POST ${path}.`, {
    param: 'model',
  })
}
