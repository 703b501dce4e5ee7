import type { Model } from '../../contracts/catalogue.js'
import type { Principal } from '../../contracts/credentials.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import { authoriseKeyModel, isHiddenFrom } from '../../engine/admission/authorise.js'
import { lookUpModel } from '../../engine/admission/find-model.js'
import type { LazyContext } from '../../engine/asking/lazy-context.js'
import { askStore } from '../../engine/asking/stores.js'
import { faultyStore } from '../../engine/failures/store-failures.js'
import { toLatin1 } from '../../protocol/latin1.js'
import { modelNotFound } from '../../protocol/model-key.js'
import { modelList, modelObject } from './model-object.js'

/** Writes the bodies of `GET /models` and `GET /models/{model_key}`. */
export class ModelReplies {
  #listed: { readonly models: readonly Model[]; readonly body: string } | undefined

  constructor(private readonly options: EngineOptions) {}

  /**
   * Writes the body once for each frozen list. Caches and the memory catalogue return the same list until it changes. An
   * API key with a list of models gets a body of its own.
   */
  async list(context: LazyContext, principal: Principal): Promise<string> {
    const { options } = this
    const models = await askStore('catalogue', options, context, () => options.catalogue.list(context))
    if (!Array.isArray(models)) {
      throw faultyStore('catalogue', options, context.requestId, 'list() did not return a list')
    }
    if (principal.kind === 'api-key' && principal.allowedModels !== undefined) {
      const shown = models.filter(({ id }) => !isHiddenFrom(principal, id))
      return toLatin1(JSON.stringify(modelList(shown)))
    }
    if (this.#listed?.models === models) return this.#listed.body
    const body = toLatin1(JSON.stringify(modelList(models)))
    if (isFixed(models)) this.#listed = { models, body }
    return body
  }

  /** Looks up `key` unchanged, then decoded once, then both without leading slashes. */
  async one(key: string, context: LazyContext, principal: Principal): Promise<string> {
    for (const spelling of spellingsOf(key)) {
      const model = await lookUpModel(spelling, context, this.options)
      if (model === undefined) continue
      authoriseKeyModel(principal, model.id)
      return toLatin1(JSON.stringify(modelObject(model)))
    }
    throw modelNotFound(decodeOnce(key) ?? key)
  }
}

/** Whether nothing that the list shows can change. */
function isFixed(models: readonly Model[]): boolean {
  return Object.isFrozen(models) && models.every((model) => partsOf(model).every(Object.isFrozen))
}

function partsOf(model: Model): readonly unknown[] {
  const { modalities, prices, supportedParameters } = model
  const tiers: unknown = prices?.tiers
  return [model, modalities, supportedParameters, prices, tiers, ...(Array.isArray(tiers) ? tiers : [])]
}

function spellingsOf(key: string): ReadonlySet<string> {
  const plain = key.replace(/^\/+/, '')
  return new Set([key, decodeOnce(key) ?? key, plain, decodeOnce(plain) ?? plain])
}

/** Returns the key decoded once, or undefined if it has no escapes or a malformed one. */
function decodeOnce(key: string): string | undefined {
  if (!key.includes('%')) return undefined
  try {
    return decodeURIComponent(key)
  } catch {
    return undefined
  }
}
