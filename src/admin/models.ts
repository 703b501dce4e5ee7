import { z } from 'zod'
import type { Model } from '../contracts/index.js'
import { idSchema, idsSchema, modelSchema, parseField, parseInput } from '../rules/schemas.js'
import type { Recorder } from '../sql/audit.js'
import { readJson, readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { Row, SqlDatabase, Statement } from '../sql/database.js'
import { checkPrices } from './amounts.js'
import { checkPutOptions, compareAndPut, differences, type PutOptions } from './compare-and-put.js'

/** A {@link Model}. By default, `created` is 0 and `ownedBy` is the part of the id before the first slash. */
export type ModelRequest = Omit<Model, 'created' | 'ownedBy'> & Partial<Pick<Model, 'created' | 'ownedBy'>>

const SELECT = 'select id, null as account from {models}'

const querySchema = z.strictObject({ modelIds: idsSchema.optional() })

export interface ModelsAdmin {
  /**
   * Adds a model at the end of the list, or replaces the whole model with this id in its position. Returns whether it
   * was stored: always, unless `was` differs from the stored value, or `ifAbsent` finds one.
   */
  put(model: ModelRequest, options?: PutOptions<Model>): Promise<boolean>
  /** Removes a model from the catalogue, but not its routes. Returns whether the model existed. */
  remove(id: string): Promise<boolean>
  /** Lists models in catalogue order: all, or those with the given ids. */
  list(query?: { readonly modelIds?: readonly string[] }): Promise<readonly Model[]>
}

export function createModelsAdmin(database: SqlDatabase, recorder: Recorder): ModelsAdmin {
  async function list(ids: readonly string[] | undefined): Promise<readonly Row[]> {
    const { parameters, addOneOf, where } = createConditions()
    if (ids !== undefined) addOneOf('id', ids)
    return database.all({
      text: `select id, definition from {models} ${where()} order by position, id`,
      parameters,
    })
  }

  async function write(model: Model, before: Row | undefined): Promise<boolean> {
    const parameters = [model.id, JSON.stringify(model)]
    const statement: Statement =
      before === undefined
        ? {
            text: `insert into {models} (id, position, definition)
              select ?1, coalesce(max(position), 0) + 1, ?2 from {models} where true
              on conflict (id) do nothing returning id`,
            parameters,
          }
        : {
            text: 'update {models} set definition = ?2 where id = ?1 and definition = ?3 returning id',
            parameters: [...parameters, readText(before, 'definition')],
          }
    const details = differences(before && readModel(before), model)
    const [rows] = await database.batch([
      statement,
      ...(details === undefined
        ? []
        : [
            recorder.record(
              { noun: 'model', kind: 'put', details },
              { text: `${SELECT} where id = ?1 and definition = ?2`, parameters },
            ),
          ]),
      database.change('models', model.id),
    ])
    return rows!.length > 0
  }

  return {
    async put(model, options = {}) {
      const read = parseInput(modelSchema, model, 'model')
      if (read.prices !== undefined) checkPrices(read.prices, 'model')
      const definition: Model = { ...read, ownedBy: read.ownedBy ?? read.id.split('/', 1)[0]! }
      return compareAndPut(checkPutOptions(options, 'models.put'), {
        find: async () => (await list([definition.id]))[0],
        show: readModel,
        write: async (before) => write(definition, before),
      })
    },
    async remove(id) {
      const parameters = [parseField(idSchema, id, 'id', 'model')]
      const [, , rows] = await database.batch([
        // Locks the row, so that a concurrent removal sees this one.
        { text: 'update {models} set id = id where id = ?1', parameters },
        recorder.record({ noun: 'model', kind: 'removed' }, { text: `${SELECT} where id = ?1`, parameters }),
        { text: 'delete from {models} where id = ?1 returning id', parameters },
        database.change('models', id),
      ])
      return rows!.length > 0
    },
    async list(query = {}) {
      const { modelIds } = parseInput(querySchema, query, 'models')
      return (await list(modelIds)).map(readModel)
    },
  }
}

const readModel = (row: Row): Model => readJson<Model>(row, 'definition')
