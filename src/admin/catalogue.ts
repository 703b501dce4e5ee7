import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { invalidInput } from '../base/invalid-input.js'
import type { Model } from '../contracts/index.js'
import { idSchema, idsSchema, modelSchema, parseInput } from '../rules/schemas.js'
import { readJson, readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { Row, SqlDatabase, Statement } from '../sql/database.js'
import { checkPrices } from './amounts.js'

/** A {@link Model}. By default, `created` is 0 and `ownedBy` is the part of the id before the first slash. */
export type ModelRequest = Omit<Model, 'created' | 'ownedBy'> & Partial<Pick<Model, 'created' | 'ownedBy'>>

/** Guards a put against concurrent changes. */
export interface PutOptions<Row> {
  /**
   * The value to replace, as the lists return it, or `null` for a new row. If the stored value differs, nothing
   * changes.
   */
  readonly was?: Row | null
  /** If `true`, only writes a new row and keeps a stored one. For a program that sets up its models at each start. */
  readonly ifAbsent?: boolean
}

const putSchema = z.strictObject({ was: z.unknown().optional(), ifAbsent: z.boolean().optional() })
const querySchema = z.strictObject({ modelIds: idsSchema.optional() })

/** Checks options. A misspelt one would replace a value that it should keep. */
export function checkPutOptions<Row>(options: PutOptions<Row>, name: string): PutOptions<Row> {
  const { ifAbsent, was } = parseInput(putSchema, options, name)
  if (ifAbsent === true && was !== undefined) throw invalidInput(`${name}: give either was or ifAbsent`)
  return options
}

/** How {@link compareAndPut} reads and writes a row. */
export interface PutSteps<Shown> {
  find(): Promise<Row | undefined>
  /** Returns the row as the lists return it. */
  show(row: Row): Shown
  /** Writes only if the stored row is still this one, or is still absent. Returns whether it did. */
  write(before: Row | undefined): Promise<boolean>
}

/** Stores a row as the options say, whatever others store meanwhile. Returns whether it was stored. */
export async function compareAndPut<Shown>(
  { ifAbsent, was }: PutOptions<Shown>,
  { find, show, write }: PutSteps<Shown>,
): Promise<boolean> {
  for (;;) {
    const row = await find()
    if (ifAbsent === true && row !== undefined) return false
    if (was !== undefined && !isDeepStrictEqual(row === undefined ? null : show(row), was)) return false
    if (await write(row)) return true
  }
}

export interface CatalogueAdmin {
  /**
   * Adds a model at the end of the list, or replaces the whole model with this id in its position. Returns whether it
   * was stored: always, unless `was` differs from the stored value, or `ifAbsent` finds one.
   */
  putModel(model: ModelRequest, options?: PutOptions<Model>): Promise<boolean>
  /** Removes a model from the catalogue, but not its routes. Returns whether the model existed. */
  removeModel(id: string): Promise<boolean>
  /** Lists models in catalogue order: all, or those with the given ids. */
  listModels(query?: { readonly modelIds?: readonly string[] }): Promise<readonly Model[]>
}

export function createCatalogueAdmin(database: SqlDatabase): CatalogueAdmin {
  async function changes(id: string, statement: Statement): Promise<boolean> {
    const [rows] = await database.batch([statement, database.change('models', id)])
    return rows!.length > 0
  }

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
    if (before === undefined) {
      const text = `insert into {models} (id, position, definition)
        select ?1, coalesce(max(position), 0) + 1, ?2 from {models} where true
        on conflict (id) do nothing returning id`
      return changes(model.id, { text, parameters })
    }
    const text = 'update {models} set definition = ?2 where id = ?1 and definition = ?3 returning id'
    return changes(model.id, { text, parameters: [...parameters, readText(before, 'definition')] })
  }

  return {
    async putModel(model, options = {}) {
      const read = parseInput(modelSchema, model, 'model')
      if (read.prices !== undefined) checkPrices(read.prices, 'model.prices')
      const definition: Model = { ...read, ownedBy: read.ownedBy ?? read.id.split('/', 1)[0]! }
      return compareAndPut(checkPutOptions(options, 'putModel'), {
        find: async () => (await list([definition.id]))[0],
        show: readModel,
        write: async (before) => write(definition, before),
      })
    },
    removeModel: async (id) =>
      changes(id, {
        text: 'delete from {models} where id = ?1 returning id',
        parameters: [parseInput(idSchema, id, 'model id')],
      }),
    async listModels(query = {}) {
      const { modelIds } = parseInput(querySchema, query, 'models')
      return (await list(modelIds)).map(readModel)
    },
  }
}

const readModel = (row: Row): Model => readJson<Model>(row, 'definition')
