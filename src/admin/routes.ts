import { z } from 'zod'
import { invalidInput } from '../base/invalid-input.js'
import { Refusal } from '../base/refusal.js'
import {
  idSchema,
  idsSchema,
  keysSchema,
  nameSchema,
  parseField,
  parseInput,
  routeFields,
} from '../rules/schemas.js'
import type { Recorder } from '../sql/audit.js'
import { readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { Parameter, Row, SqlDatabase, Statement } from '../sql/database.js'
import {
  bindingOf,
  ROUTE_COLUMNS,
  type RouteDefinition,
  type RouteRow,
  readRouteRow,
} from '../sql/route-rows.js'
import type { SealedSecret, SecretBox } from '../sql/secret-box.js'
import { checkPrices } from './amounts.js'
import { checkPutOptions, compareAndPut, differences, type PutOptions } from './compare-and-put.js'
import type { RouteFaultsAdmin } from './route-faults.js'

export interface RouteRequest extends Omit<RouteDefinition, 'settings'> {
  /** Unique among all routes. */
  readonly id: string
  /** The id of the model that it serves. */
  readonly model: string
  readonly settings?: RouteDefinition['settings']
  /**
   * The provider's key. Stored sealed, bound to this route, its provider and its address. If absent, the stored key
   * stays. `null` removes it.
   */
  readonly secret?: string | null
}

/** A route without its secret, which may be shown. */
export interface RouteListing extends RouteDefinition {
  readonly id: string
  readonly model: string
  /** The id of the key with which its secret is sealed. */
  readonly secretKeyId?: string
}

export interface RoutesQuery {
  readonly model?: string
  readonly routeIds?: readonly string[]
}

export interface RoutesAdmin extends RouteFaultsAdmin {
  /**
   * Adds a route after the others of its model, or replaces the one with this id. Rejects if the stores were given
   * `adapters` and none of them can be created from the route. Also rejects if the stored secret would stay but was
   * sealed for another provider or address: pass it again. Returns whether it was stored: always, unless `was` differs
   * from the stored value, or `ifAbsent` finds one.
   */
  put(route: RouteRequest, options?: PutOptions<RouteListing>): Promise<boolean>
  /** Returns whether the route existed. */
  remove(id: string): Promise<boolean>
  /** Lists routes by model and in order: all, or those of a model or with the given ids. */
  list(query?: RoutesQuery): Promise<readonly RouteListing[]>
}

const routeSchema = z.strictObject({
  id: nameSchema,
  model: nameSchema,
  provider: nameSchema,
  adapter: nameSchema,
  upstreamModel: nameSchema,
  settings: z.record(z.string(), z.unknown()).default({}),
  ...routeFields,
  supportedParameters: keysSchema().optional(),
  secret: z.string().min(1).nullable().optional(),
})

const SELECT = 'select id, null as account from {routes}'

const querySchema = z.strictObject({ model: idSchema.optional(), routeIds: idsSchema.optional() })

type RoutePut = z.infer<typeof routeSchema>

/** Settings are stored as plain text, and a key among them would be too. */
const SECRET_SETTING_PATTERN = /^(api_?key|secret|token|password|authorization)$/i

/** Reads routes by model and in order. */
export async function readRoutes(database: SqlDatabase, query: RoutesQuery): Promise<readonly RouteRow[]> {
  const { model, routeIds } = parseInput(querySchema, query, 'routes')
  const { parameters, addEqual, addOneOf, where } = createConditions()
  addEqual({ model_id: model })
  if (routeIds !== undefined) addOneOf('id', routeIds)
  const rows = await database.all({
    text: `select ${ROUTE_COLUMNS} from {routes} ${where()} order by model_id, position, id`,
    parameters,
  })
  return rows.map(readRouteRow)
}

export function createRoutesAdmin(
  database: SqlDatabase,
  secrets: SecretBox,
  faults: RouteFaultsAdmin,
  recorder: Recorder,
): RoutesAdmin {
  async function find(id: string): Promise<Row | undefined> {
    const [row] = await database.all({
      text: `select ${ROUTE_COLUMNS} from {routes} where id = ?1`,
      parameters: [id],
    })
    return row
  }

  /** Returns the given secret, sealed, or else the stored one. */
  function sealSecret(
    { id, secret, ...definition }: RoutePut,
    before: RouteRow | undefined,
  ): SealedSecret | undefined {
    const binding = bindingOf(id, definition)
    if (secret === null) return undefined
    if (secret !== undefined) return secrets.seal(secret, binding)
    if (before?.secret === undefined) return undefined
    const { provider, origin } = bindingOf(id, before.definition)
    if (provider !== binding.provider || origin !== binding.origin) {
      throw new Refusal(
        'conflict',
        `the secret of ${JSON.stringify(id)} was given for ${provider} at ${origin}; give it again for the new address`,
        { of: 'route', field: 'secret' },
      )
    }
    return before.secret
  }

  function insertion(cells: readonly Parameter[]): Statement {
    return {
      text: `insert into {routes} (id, model_id, position, definition, secret_key_id, secret)
        select ?1, ?2, coalesce(max(position), 0) + 1, ?3, ?4, ?5 from {routes} where true
        on conflict (id) do nothing returning id`,
      parameters: cells,
    }
  }

  async function write(route: RoutePut, row: Row | undefined): Promise<boolean> {
    const { model } = route
    const before = row && readRouteRow(row)
    const cells = cellsOf(route, sealSecret(route, before))
    const details = detailsOf(route, before)
    const [put] = await database.batch([
      row === undefined
        ? insertion(cells)
        : {
            // Replaces only the row that was read: a secret sealed for other settings could not be opened.
            text: `update {routes} set model_id = ?2, definition = ?3, secret_key_id = ?4, secret = ?5
              where id = ?1 and model_id = ?6 and definition = ?7 and secret is not distinct from ?8 returning id`,
            parameters: [...cells, row.model_id!, row.definition!, before?.secret?.sealed ?? null],
          },
      ...(details === undefined
        ? []
        : [
            recorder.record(
              { noun: 'route', kind: 'put', details },
              {
                text: `${SELECT} where id = ?1 and model_id = ?2 and definition = ?3`,
                parameters: cells.slice(0, 3),
              },
            ),
          ]),
      database.change('routes', model),
      ...(before === undefined || before.modelId === model
        ? []
        : [database.change('routes', before.modelId)]),
    ])
    return put!.length > 0
  }

  return {
    ...faults,
    async put(route, options = {}) {
      const read = parseInput(routeSchema, route, 'route')
      const checked = checkPutOptions(options, 'routes.put')
      refuseSecrets(read.settings)
      const fault = faults.fault({ adapter: read.adapter, settings: read.settings })
      if (fault !== undefined) throw invalidInput({ of: 'route', field: fault.field }, fault.message)
      if (read.prices !== undefined) checkPrices(read.prices, 'route')
      return compareAndPut(checked, {
        find: async () => find(read.id),
        show: (row) => listingOf(readRouteRow(row)),
        write: async (row) => write(read, row),
      })
    },

    async remove(id) {
      const row = await find(parseField(idSchema, id, 'id', 'route'))
      if (row === undefined) return false
      const parameters = [id]
      const [, , removed] = await database.batch([
        // Locks the row, so that a concurrent removal sees this one.
        { text: 'update {routes} set id = id where id = ?1', parameters },
        recorder.record({ noun: 'route', kind: 'removed' }, { text: `${SELECT} where id = ?1`, parameters }),
        { text: 'delete from {routes} where id = ?1 returning id', parameters },
        database.change('routes', readText(row, 'model_id')),
      ])
      return removed!.length > 0
    },

    async list(query = {}) {
      return (await readRoutes(database, query)).map(listingOf)
    },
  }
}

function cellsOf(
  { id, model, secret: _, ...definition }: RoutePut,
  sealed: SealedSecret | undefined,
): Parameter[] {
  return [id, model, JSON.stringify(definition), sealed?.keyId ?? null, sealed?.sealed ?? null]
}

function listingOf({ id, modelId, definition, secret }: RouteRow): RouteListing {
  return {
    ...definition,
    id,
    model: modelId,
    ...(secret !== undefined && { secretKeyId: secret.keyId }),
  }
}

/** Returns what a put changes, for the audit log. Undefined if it changes nothing. */
function detailsOf({ secret, ...route }: RoutePut, before: RouteRow | undefined): object | undefined {
  const was = before && { ...before.definition, model: before.modelId }
  const changed = differences(was, route)
  if (secret === undefined) return changed
  return { ...changed, secret: secret === null ? 'removed' : 'given' }
}

function refuseSecrets(settings: Readonly<Record<string, unknown>>): void {
  for (const name of Object.keys(settings)) {
    if (SECRET_SETTING_PATTERN.test(name)) {
      throw invalidInput(
        { of: 'route', field: `settings.${name}` },
        "a provider's key goes into secret, which is stored sealed",
      )
    }
  }
}
