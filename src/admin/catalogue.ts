import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { parseCredits } from '../base/money.js'
import type { App, Model } from '../contracts/index.js'
import { refuseMisspelt } from '../contracts/option-checks.js'
import {
  idSchema,
  labelSchema,
  markupSchema,
  modelSchema,
  nameSchema,
  parseInput,
  textsSchema,
} from '../contracts/schemas.js'
import { readJson, readOptionalNumber, readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { Row, SqlDatabase, Statement, Topic } from '../sql/database.js'
import { checkHoldable, checkPrices } from './amounts.js'

/** A {@link Model}. By default, `created` is 0 and `ownedBy` is the part of the id before the first slash. */
export type ModelRequest = Omit<Model, 'created' | 'ownedBy'> & Partial<Pick<Model, 'created' | 'ownedBy'>>

export interface AppRow extends App {
  readonly suspendedAt?: number
}

/** Guards a put against concurrent changes. */
export interface PutOptions<Row> {
  /** The value to replace, as the lists return it, or `null` for a new one. If another is stored, nothing changes. */
  readonly was?: Row | null
  /** If `true`, writes a new one only: a stored one stays as it is. For a program that sets up its models at each start. */
  readonly ifAbsent?: boolean
}

/** Checks options. One that is misspelt would replace what it should keep. */
export function checkPutOptions<Row>(options: PutOptions<Row>, name: string): PutOptions<Row> {
  refuseMisspelt(options, ['was', 'ifAbsent'], name)
  const { ifAbsent, was } = options
  if (ifAbsent !== undefined && typeof ifAbsent !== 'boolean') {
    throw new TypeError(`${name}: ifAbsent must be true or false`)
  }
  if (ifAbsent === true && was !== undefined) throw new TypeError(`${name}: give either was or ifAbsent`)
  return options
}

export interface CatalogueAdmin {
  /**
   * Adds a model at the end of the list, or replaces the whole model with this id and keeps its position. Returns
   * whether it was stored: always, unless `was` is not the current value, or `ifAbsent` finds a stored one.
   */
  putModel(model: ModelRequest, options?: PutOptions<Model>): Promise<boolean>
  /** Removes a model from the catalogue, but not its routes. Returns whether the model existed. */
  removeModel(id: string): Promise<boolean>
  /** Lists models in catalogue order: all, or those with the given ids. */
  listModels(query?: { readonly modelIds?: readonly string[] }): Promise<readonly Model[]>
  /**
   * Registers an app, or replaces the whole app with this id, also for its existing tokens. A suspended app stays
   * suspended. Returns whether it was stored, as {@link putModel}.
   */
  putApp(app: App, options?: PutOptions<AppRow>): Promise<boolean>
  /** Refuses every token of the app until {@link resumeApp}. Returns whether the app exists. */
  suspendApp(id: string): Promise<boolean>
  /** Returns whether the app exists. */
  resumeApp(id: string): Promise<boolean>
  /** Lists apps by id: all, or those with the given ids. */
  listApps(query?: { readonly appIds?: readonly string[] }): Promise<readonly AppRow[]>
}

const appSchema = z.strictObject({
  id: nameSchema,
  name: labelSchema.optional(),
  markup: markupSchema,
  allowedModels: textsSchema,
  account: nameSchema.optional(),
})

export function createCatalogueAdmin(database: SqlDatabase): CatalogueAdmin {
  async function changes(topic: Topic, id: string | undefined, statement: Statement): Promise<boolean> {
    const [rows] = await database.batch([statement, database.change(topic, id)])
    return rows!.length > 0
  }

  async function list(
    table: string,
    columns: string,
    order: string,
    ids: readonly string[] | undefined,
  ): Promise<readonly Row[]> {
    const { parameters, addOneOf, where } = createConditions()
    if (ids !== undefined) addOneOf('id', ids)
    return database.all({ text: `select ${columns} from ${table} ${where()} order by ${order}`, parameters })
  }

  async function put<Stored extends { readonly id: string }>(
    { table, insert, read, topic }: Kind,
    stored: Stored,
    { ifAbsent, was }: PutOptions<object>,
  ): Promise<boolean> {
    const change = (text: string, ...more: string[]): Promise<boolean> =>
      changes(topic, topic === 'models' ? stored.id : undefined, {
        text: `${text} returning id`,
        parameters: [stored.id, JSON.stringify(stored), ...more],
      })
    if (ifAbsent === true) return change(`${insert} on conflict (id) do nothing`)
    if (was === undefined) {
      return change(`${insert} on conflict (id) do update set definition = excluded.definition`)
    }
    const [row] = await list(table, '*', 'id', [stored.id])
    if (!isDeepStrictEqual(row === undefined ? null : read(row), was)) return false
    if (row === undefined) return change(`${insert} on conflict (id) do nothing`)
    const before = readText(row, 'definition')
    return change(`update ${table} set definition = ?2 where id = ?1 and definition = ?3`, before)
  }

  const models: Kind = {
    table: '{models}',
    topic: 'models',
    insert: `insert into {models} (id, position, definition)
      select ?1, coalesce(max(position), 0) + 1, ?2 from {models} where true`,
    read: readModel,
  }
  const apps: Kind = {
    table: '{apps}',
    topic: 'credentials',
    insert: `insert into {apps} (id, definition, created_at) values (?1, ?2, ${database.now})`,
    read: readApp,
  }

  return {
    async putModel(model, options = {}) {
      const read = parseInput(modelSchema, model, 'model')
      if (read.prices !== undefined) checkPrices(read.prices, 'model.prices')
      const definition: Model = { ...read, ownedBy: read.ownedBy ?? read.id.split('/', 1)[0]! }
      return put(models, definition, checkPutOptions(options, 'putModel'))
    },
    removeModel: async (id) =>
      changes('models', id, {
        text: 'delete from {models} where id = ?1 returning id',
        parameters: [parseInput(idSchema, id, 'model id')],
      }),
    async listModels({ modelIds } = {}) {
      const rows = await list('{models}', 'definition', 'position, id', modelIds)
      return rows.map(readModel)
    },

    async putApp(app, options = {}) {
      const read = parseInput(appSchema, app, 'app')
      if (read.markup.flat !== undefined) checkHoldable(parseCredits(read.markup.flat), 'app.markup.flat')
      return put(apps, read, checkPutOptions(options, 'putApp'))
    },
    suspendApp: async (id) =>
      changes('credentials', undefined, {
        text: `update {apps} set suspended_at = coalesce(suspended_at, ${database.now}) where id = ?1 returning id`,
        parameters: [parseInput(idSchema, id, 'app id')],
      }),
    resumeApp: async (id) =>
      changes('credentials', undefined, {
        text: 'update {apps} set suspended_at = null where id = ?1 returning id',
        parameters: [parseInput(idSchema, id, 'app id')],
      }),
    async listApps({ appIds } = {}) {
      const rows = await list('{apps}', 'definition, suspended_at', 'id', appIds)
      return rows.map(readApp)
    },
  }
}

interface Kind {
  readonly table: string
  readonly topic: Topic
  /** SQL with the id and the definition as parameters. */
  readonly insert: string
  readonly read: (row: Row) => object
}

const readModel = (row: Row): Model => readJson<Model>(row, 'definition')

function readApp(row: Row): AppRow {
  const suspendedAt = readOptionalNumber(row, 'suspended_at')
  const app = readJson<App>(row, 'definition')
  return suspendedAt === undefined ? app : { ...app, suspendedAt }
}
