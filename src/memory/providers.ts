import { z } from 'zod'
import type { ProviderAdapter, ProviderRegistry, Route, Secret } from '../contracts/index.js'
import { readOptions } from '../rules/read-options.js'
import { listSchema, nameSchema, routeFields } from '../rules/schemas.js'

/** One provider and the models that it serves. The other members are those of {@link Route}. */
export interface MemoryProvider extends Omit<Route, 'id' | 'provider' | 'adapter' | 'upstreamModel'> {
  /** The name that callers use in `provider` and `routing`. */
  readonly id: string
  /** The provider's name for each model, by model id. */
  readonly models: Readonly<Record<string, string>>
  readonly adapter: ProviderAdapter
}

const NO_ROUTES: readonly Route[] = Object.freeze([])

/**
 * Routes in memory, in the order given. Each provider is checked (a `TypeError` names the fault), copied and frozen.
 * Adapters and secrets are neither copied nor frozen, and the registry never closes an adapter.
 *
 * A route's id is `<provider>:<model>`. If several routes would have the same id, the later ones end in `#2`, `#3` and so
 * on. `routes` returns the same list for a model at every call.
 */
export function memoryProviders(providers: readonly MemoryProvider[]): ProviderRegistry {
  const routesByModel = new Map<string, Route[]>()
  const ids = new Set<string>()
  const given = readOptions(listSchema, providers, 'memoryProviders', { field: 'providers' })
  for (const [position, provider] of given.entries()) {
    const { id, models, ...settings } = readOptions(providerSchema, provider, 'memoryProviders', {
      field: `providers.${position}`,
      id: Object(provider).id,
    })
    for (const [model, upstreamModel] of Object.entries(models)) {
      const route = { ...settings, id: freeId(`${id}:${model}`, ids), provider: id, upstreamModel }
      const routes = routesByModel.get(model)
      if (routes === undefined) routesByModel.set(model, [Object.freeze(route)])
      else routes.push(Object.freeze(route))
    }
  }
  for (const routes of routesByModel.values()) Object.freeze(routes)
  return { routes: (model) => routesByModel.get(model.id) ?? NO_ROUTES }
}

function freeId(wanted: string, taken: Set<string>): string {
  let id = wanted
  for (let number = 2; taken.has(id); number++) id = `${wanted}#${number}`
  taken.add(id)
  return id
}

const providerSchema = z.strictObject({
  id: nameSchema,
  models: z.record(nameSchema, z.string().min(1)),
  adapter: z.custom<ProviderAdapter>(
    isAdapter,
    'must be an adapter with a method for each operation that it serves, such as openaiCompatible({ baseUrl, apiKey })',
  ),
  ...routeFields,
  secret: z
    .custom<Secret>(
      (value) => hasMethod(value, 'reveal'),
      'must be a secret with a reveal method, such as createSecret(key)',
    )
    .optional(),
  supportedParameters: z.array(z.string()).readonly().optional(),
})

/** The registry does not know the operations: any method except `close` may serve one. */
function isAdapter(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const members: object = value
  return methodsOf(members).some((name) => name !== 'close')
}

/** Returns the names of an object's methods, inherited ones included. */
function methodsOf(value: object): string[] {
  const own = Object.getOwnPropertyNames(value).filter((name) => hasMethod(value, name))
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return own
  return [...own, ...methodsOf(prototype).filter((name) => name !== 'constructor')]
}

function hasMethod(value: unknown, name: string): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Readonly<Record<string, unknown>>)[name] === 'function'
  )
}
