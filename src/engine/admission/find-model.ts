import type { Model } from '../../contracts/catalogue.js'
import type { Awaitable } from '../../contracts/context.js'
import { isModelKey, modelNotFound } from '../../protocol/model-key.js'
import type { EngineOptions } from '../options.js'
import { askStore } from '../stores.js'
import { andThen, type LazyContext } from '../within.js'

/** The model with exactly this id, or 404. */
export function findModel(key: string, context: LazyContext, options: EngineOptions): Awaitable<Model> {
  return andThen(lookUpModel(key, context, options), (model) => {
    if (model === undefined) throw modelNotFound(key)
    return model
  })
}

/** The model with exactly this id. A key that no catalogue can hold is not looked up. */
export function lookUpModel(
  key: string,
  context: LazyContext,
  options: EngineOptions,
): Awaitable<Model | undefined> {
  if (!isModelKey(key)) return undefined
  const answer = askStore('catalogue', options, context, () => options.catalogue.get(key, context))
  return andThen(answer, (model) => (model?.id === key ? model : undefined))
}
