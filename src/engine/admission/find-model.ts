import { CompatError } from '../../base/errors.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Awaitable } from '../../contracts/context.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { Operation } from '../../contracts/operation.js'
import { isModelKey, modelNotFound } from '../../protocol/model-key.js'
import type { LazyContext } from '../asking/lazy-context.js'
import { askStore } from '../asking/stores.js'
import { andThen } from '../asking/within.js'
import { faultyModel, readModel } from './read-model.js'

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
    return readModel(model, faultyModel(options, context))
  })
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
