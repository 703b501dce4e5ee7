import type { CatalogueStore, Model } from '../../contracts/catalogue.js'
import type { CredentialResult, CredentialStore, Principal } from '../../contracts/credentials.js'
import type { EngineOptions } from '../../contracts/engine-options.js'
import type { ProviderRegistry, Route } from '../../contracts/providers.js'
import type { Limit } from '../../contracts/usage-limits.js'
import { andThen } from './within.js'

/** A member that a host's object lacks is undefined here, even if some dependency has put it on `Object.prototype`. */
type None<T> = Readonly<Record<keyof T, undefined>>

const NO_MODEL: None<Model> = {
  id: undefined,
  created: undefined,
  ownedBy: undefined,
  root: undefined,
  parent: undefined,
  name: undefined,
  description: undefined,
  contextLength: undefined,
  maxOutputTokens: undefined,
  defaultOutputTokens: undefined,
  mediaTokens: undefined,
  promptOverhead: undefined,
  dimensions: undefined,
  supportedParameters: undefined,
  operations: undefined,
  modalities: undefined,
  prices: undefined,
  priceVersion: undefined,
}

const NO_ROUTE: None<Route> = {
  id: undefined,
  provider: undefined,
  adapter: undefined,
  upstreamModel: undefined,
  defaultOutputTokens: undefined,
  enabled: undefined,
  byok: undefined,
  secret: undefined,
  prices: undefined,
  supportedParameters: undefined,
  onDisconnect: undefined,
  promptEscapes: undefined,
  weight: undefined,
}

type AccessPrincipal = Extract<Principal, { kind: 'access-token' }>
type KeyPrincipal = Extract<Principal, { kind: 'api-key' }>

const NO_PRINCIPAL: None<AccessPrincipal> & None<KeyPrincipal> = {
  kind: undefined,
  credentialId: undefined,
  account: undefined,
  expiresAt: undefined,
  limits: undefined,
  label: undefined,
  origins: undefined,
  metadata: undefined,
  allowedModels: undefined,
  app: undefined,
  scopes: undefined,
}

const NO_APP: None<AccessPrincipal['app']> = {
  id: undefined,
  name: undefined,
  markup: undefined,
  allowedModels: undefined,
  account: undefined,
}

const NO_LIMIT: None<Limit> = {
  id: undefined,
  unit: undefined,
  amount: undefined,
  per: undefined,
  zone: undefined,
  of: undefined,
  ownerId: undefined,
}

const NO_MARKUP: None<AccessPrincipal['app']['markup']> = { basisPoints: undefined, flat: undefined }

/**
 * Returns the same options over stores whose models, routes and principals have only their own members. A frozen object
 * is copied once, however often a store returns it.
 */
export function withOwnMembers(options: EngineOptions): EngineOptions {
  return Object.freeze({
    ...options,
    credentials: ownCredentials(options.credentials),
    catalogue: ownCatalogue(options.catalogue),
    providers: ownRegistry(options.providers),
  })
}

function ownCredentials(store: CredentialStore): CredentialStore {
  const read = onceIfFrozen(ownResult, (result) => {
    if (!result?.ok) return []
    const app = result.principal?.kind === 'access-token' ? result.principal.app : undefined
    const limits = result.principal?.limits
    return [result.principal, app, app?.markup, limits, ...(Array.isArray(limits) ? limits : [])]
  })
  return { resolve: (token, context) => andThen(store.resolve(token, context), read) }
}

function ownResult(result: CredentialResult): CredentialResult {
  if (!isObject(result) || !result.ok || !isObject(result.principal)) return result
  const given = own(result.principal as AccessPrincipal, NO_PRINCIPAL)
  const principal = Array.isArray(given.limits) ? { ...given, limits: ownLimits(given.limits) } : given
  if (!isObject(principal.app)) return { ...result, principal }
  const app = own(principal.app, NO_APP)
  const ownApp = isObject(app.markup) ? { ...app, markup: own(app.markup, NO_MARKUP) } : app
  return { ...result, principal: { ...principal, app: ownApp } }
}

/** Frozen, so that they are read once if their principal is copied once. */
function ownLimits(limits: readonly Limit[]): readonly Limit[] {
  return Object.freeze(limits.map((limit) => Object.freeze(own(limit, NO_LIMIT))))
}

function ownCatalogue(store: CatalogueStore): CatalogueStore {
  const read = onceIfFrozen((model: Model) => own(model, NO_MODEL))
  const readList = ownList(read)
  return {
    get: (id, context) => andThen(store.get(id, context), (model) => model && read(model)),
    list: (context) => andThen(store.list(context), readList),
  }
}

function ownRegistry(registry: ProviderRegistry): ProviderRegistry {
  const readList = ownList(onceIfFrozen((route: Route) => own(route, NO_ROUTE)))
  return { routes: (model, context) => andThen(registry.routes(model, context), readList) }
}

function ownList<T extends object>(read: (item: T) => T): (list: readonly T[]) => readonly T[] {
  const items = (list: readonly T[]): readonly T[] => list
  return onceIfFrozen((list) => (Array.isArray(list) ? list.map(read) : list), items)
}

/** Returns other values unchanged: the caller reports them to the host. */
function own<T extends object>(given: T, none: None<T>): T {
  return isObject(given) ? { ...none, ...given } : given
}

/** Copies a store's answer. A deeply frozen answer is copied only once. */
function onceIfFrozen<T extends object>(
  copy: (given: T) => T,
  partsOf: (given: T) => readonly unknown[] = () => [],
): (given: T) => T {
  const copies = new WeakMap<T, T>()
  return (given) => {
    const known = copies.get(given)
    if (known !== undefined) return known
    const made = copy(given)
    if (made === given || !Object.isFrozen(given) || !partsOf(given).every(Object.isFrozen)) return made
    copies.set(given, Object.freeze(made))
    return made
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
