import { z } from 'zod'
import { isOptionsError } from '../base/options-error.js'
import type { ProviderAdapter } from '../contracts/index.js'
import { parseInput } from '../rules/schemas.js'
import type { SqlDatabase } from '../sql/database.js'
import type { AdapterFactories } from '../sql/registry.js'
import { bindingOf, ROUTE_COLUMNS, type RouteDefinition, readRouteRow } from '../sql/route-rows.js'
import type { SecretBox } from '../sql/secret-box.js'

/** A reason why a route cannot work. `field` is a path into the route. */
export interface RouteFault {
  readonly field: string
  /** Reads as a sentence after the field's name. */
  readonly message: string
}

export interface RouteFaultsAdmin {
  /**
   * Returns why no call could use a route with this adapter and these settings. Undefined if no fault is known. Tries
   * to create the adapter if the stores were given `adapters`.
   */
  fault(route: Pick<RouteDefinition, 'adapter' | 'settings'>): RouteFault | undefined
  /**
   * Returns a message for each stored route that cannot be used because of its adapter, settings, secret or model, by
   * route id.
   */
  faults(): Promise<ReadonlyMap<string, string>>
}

const routeSchema = z.strictObject({ adapter: z.string(), settings: z.record(z.string(), z.unknown()) })

export function createRouteFaults(
  database: SqlDatabase,
  secrets: SecretBox,
  adapters: AdapterFactories | undefined,
): RouteFaultsAdmin {
  const factories = adapters === undefined ? undefined : new Map(Object.entries(adapters))
  // Listings check the same few routes again and again.
  let tried = new Map<string, RouteFault | undefined>()

  function routeFault({
    adapter,
    settings,
  }: Pick<RouteDefinition, 'adapter' | 'settings'>): RouteFault | undefined {
    const fault = baseUrlFault(settings)
    if (fault !== undefined || factories === undefined) return fault
    const build = factories.get(adapter)
    if (build === undefined) {
      const names = [...factories.keys()].map((name) => JSON.stringify(name)).join(', ') || 'none'
      return { field: 'adapter', message: `must be one of the adapters given to the stores: ${names}.` }
    }
    try {
      // Created from what a row can hold, as the registry does it.
      const built = build(JSON.parse(JSON.stringify(settings)) as never)
      closeQuietly(built)
      return undefined
    } catch (error) {
      return settingsFault(error)
    }
  }

  return {
    fault: (route) => routeFault(parseInput(routeSchema, route, 'route')),
    async faults() {
      const [rows, models] = await Promise.all([
        database.all({ text: `select ${ROUTE_COLUMNS} from {routes} order by id` }),
        database.all({ text: 'select id from {models}' }),
      ])
      const modelIds = new Set(models.map(({ id }) => id))
      const faults = new Map<string, string>()
      const now = new Map<string, RouteFault | undefined>()
      for (const { id, modelId, definition, secret } of rows.map(readRouteRow)) {
        const key = JSON.stringify([definition.adapter, definition.settings])
        const fault = tried.has(key) ? tried.get(key) : routeFault(definition)
        now.set(key, fault)
        if (fault !== undefined) faults.set(id, `${fault.field} ${fault.message}`)
        else if (!modelIds.has(modelId)) faults.set(id, missingModel(modelId))
        else if (secret !== undefined) {
          try {
            secrets.open(secret, bindingOf(id, definition))
          } catch (error) {
            faults.set(id, textOf(error))
          }
        }
      }
      tried = now
      return faults
    },
  }
}

/** Checked for every adapter, since a secret is bound to the `baseUrl`. */
function baseUrlFault({ baseUrl }: RouteDefinition['settings']): RouteFault | undefined {
  if (baseUrl === undefined || (typeof baseUrl === 'string' && URL.canParse(baseUrl))) return undefined
  return {
    field: 'settings.baseUrl',
    message: "must be an absolute URL. Give it as 'https://api.example.com/v1'.",
  }
}

/** The fault of a route whose model is not in the catalogue. */
export function missingModel(model: string): string {
  return `There is no model ${JSON.stringify(model)} in the catalogue: add it so that calls can use this route.`
}

function settingsFault(error: unknown): RouteFault {
  if (!isOptionsError(error)) {
    return { field: 'settings', message: `cannot be used to build the adapter: ${textOf(error)}` }
  }
  return { field: error.field === '' ? 'settings' : `settings.${error.field}`, message: error.problem }
}

/** The adapter was created only as a test. */
function closeQuietly(adapter: ProviderAdapter): void {
  const close = async (): Promise<void> => adapter.close?.()
  close().catch(() => undefined)
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
