import type { Model } from '../../contracts/catalogue.js'
import { isModelKey, modelNotFound } from '../../protocol/model-key.js'
import type { EngineOptions } from '../options.js'
import { askStore } from '../stores.js'
import type { LazyContext } from '../within.js'

/** The model with exactly this id, or 404. */
export async function findModel(key: string, context: LazyContext, options: EngineOptions): Promise<Model> {
  const model = await lookUpModel(key, context, options)
  if (model === undefined) throw modelNotFound(key)
  return model
}

/** The model with exactly this id. A key that no catalogue can hold is not looked up. */
export async function lookUpModel(
  key: string,
  context: LazyContext,
  options: EngineOptions,
): Promise<Model | undefined> {
  if (!isModelKey(key)) return undefined
  const model = await askStore('catalogue', options, context, () => options.catalogue.get(key, context))
  return model?.id === key ? model : undefined
}
