import type {
  AdapterFactory,
  ProviderAdapter,
  ProviderRegistry,
  Route,
  RouteDisabled,
} from '../contracts/index.js'
import type { SqlDatabase } from './database.js'
import { bindingOf, ROUTE_COLUMNS, type RouteRow, readRouteRow } from './route-rows.js'
import type { SecretBox } from './secret-box.js'

/** Functions that build adapters from settings, by the kind that a row names: `{ openai: openaiCompatible }`. */
export type AdapterFactories = Readonly<Record<string, AdapterFactory>>

export interface RegistryParts {
  readonly database: SqlDatabase
  readonly adapters: AdapterFactories
  readonly secrets: SecretBox
  readonly onEvent: (event: RouteDisabled) => void
}

interface Kept {
  readonly settings: string
  readonly adapter: ProviderAdapter
}

/**
 * Routes from the database. While changes are reported, a model's routes are read once and kept until a row changes. An
 * adapter is kept, with its connections, as long as its kind and settings stay the same. A row with an unusable kind,
 * settings or secret is left out, and `route-disabled` says why.
 */
export function createSqlRegistry({ database, adapters, secrets, onEvent }: RegistryParts): ProviderRegistry {
  const factories = new Map(Object.entries(adapters))
  const built = new Map<string, Kept>()
  const retired = new Set<ProviderAdapter>()
  let kept = new Map<string, Promise<readonly Route[]>>()
  let isConnected = false
  let endWatch: (() => void) | undefined

  function forget(): void {
    kept = new Map()
  }

  async function load(modelId: string): Promise<readonly Route[]> {
    const rows = await database.all({
      text: `select ${ROUTE_COLUMNS} from {routes} where model_id = ?1 order by position, id`,
      parameters: [modelId],
    })
    const routes = rows.map(readRouteRow).flatMap((row) => {
      try {
        return [toRoute(row)]
      } catch (error) {
        onEvent({ type: 'route-disabled', routeId: row.id, why: (error as Error).message })
        return []
      }
    })
    return Object.freeze(routes)
  }

  function toRoute({ id, definition, secret }: RouteRow): Route {
    const { adapter, settings, ...rest } = freezeJson(definition)
    const route = { ...rest, id, adapter: adapterOf(id, adapter, settings) }
    return Object.freeze(
      secret === undefined ? route : { ...route, secret: secrets.open(secret, bindingOf(id, definition)) },
    )
  }

  function adapterOf(routeId: string, kind: string, settings: object): ProviderAdapter {
    const factory = factories.get(kind)
    if (factory === undefined) {
      throw new Error(
        `There is no adapter ${JSON.stringify(kind)}: the stores were given ${[...factories.keys()].join(', ') || 'none'}`,
      )
    }
    const text = JSON.stringify([kind, settings])
    const known = built.get(routeId)
    if (known?.settings === text) return known.adapter
    // Calls may still use the replaced adapter, so it is closed with the registry.
    if (known !== undefined) retired.add(known.adapter)
    const adapter = factory(settings as never)
    built.set(routeId, { settings: text, adapter })
    return adapter
  }

  return {
    async routes(model) {
      endWatch ??= database.watch('routes', forget, (connected) => {
        isConnected = connected
        forget()
      })
      if (!isConnected) return load(model.id)
      const known = kept.get(model.id)
      if (known !== undefined) return known
      const loading = load(model.id)
      const holder = kept
      holder.set(model.id, loading)
      loading.catch(() => holder.delete(model.id))
      return loading
    },
    watch: (changed, connection) => database.watch('routes', changed, connection),
    async close() {
      endWatch?.()
      endWatch = undefined
      isConnected = false
      forget()
      const open = [...retired, ...[...built.values()].map(({ adapter }) => adapter)]
      retired.clear()
      built.clear()
      const ended = await Promise.allSettled(open.map(async (adapter) => adapter.close?.()))
      for (const end of ended) if (end.status === 'rejected') throw end.reason
    },
  }
}

/** Routes are kept and shared, so nobody may change them. */
function freezeJson<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) freezeJson(part)
    Object.freeze(value)
  }
  return value
}
