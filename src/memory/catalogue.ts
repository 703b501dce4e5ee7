import { OptionsError } from '../base/options-error.js'
import type { CatalogueStore, Model, Watch } from '../contracts/index.js'
import { readOptions } from '../rules/read-options.js'
import { listSchema, modelSchema } from '../rules/schemas.js'
import { createWatchers } from './watchers.js'

/** A {@link Model}. By default `created` is 0 and `ownedBy` is the part of the id before the first slash. */
export type MemoryModel = Omit<Model, 'created' | 'ownedBy'> & Partial<Pick<Model, 'created' | 'ownedBy'>>

export interface MemoryCatalogue extends CatalogueStore {
  list(): readonly Model[]
  get(id: string): Model | undefined
  readonly watch: Watch
  /** Adds a model at the end of the list, or replaces the one with this id in its position. */
  put(model: MemoryModel): void
  /** Removes a model. Returns whether it existed. */
  remove(id: string): boolean
}

/**
 * Models in memory, in the order given. Each model, prices included, is checked (a `TypeError` names the fault), copied
 * and frozen. The catalogue returns the same object until the model is replaced.
 */
export function memoryCatalogue(models: readonly MemoryModel[] = []): MemoryCatalogue {
  const rows = new Map<string, Model>()
  const watchers = createWatchers()
  let listed: readonly Model[] | undefined

  const given = readOptions(listSchema, models, 'memoryCatalogue', { field: 'models' })
  for (const [position, model] of given.entries()) {
    const row = readModel(model, `models.${position}`)
    if (rows.has(row.id)) {
      const first = [...rows.keys()].indexOf(row.id)
      throw new OptionsError({
        code: 'invalid_option',
        where: 'memoryCatalogue',
        field: `models.${position}.id`,
        problem: `is also that of models.${first}: give each model its own; got ${JSON.stringify(row.id)}`,
      })
    }
    rows.set(row.id, row)
  }

  return {
    watch: watchers.watch,
    list() {
      listed ??= Object.freeze([...rows.values()])
      return listed
    },
    get: (id) => rows.get(id),
    put(model) {
      const row = readModel(model, 'model')
      rows.set(row.id, row)
      listed = undefined
      watchers.notify(row.id)
    },
    remove(id) {
      if (!rows.delete(id)) return false
      listed = undefined
      watchers.notify(id)
      return true
    },
  }
}

function readModel(model: unknown, field: string): Model {
  const { id }: { readonly id?: unknown } = Object(model)
  const read = readOptions(modelSchema, model, 'memoryCatalogue', { field, id })
  return Object.freeze({ ...read, ownedBy: read.ownedBy ?? read.id.split('/', 1)[0]! })
}
