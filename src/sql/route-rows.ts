import type { Route } from '../contracts/index.js'
import { readJson, readOptionalText, readText } from './cells.js'
import type { Row } from './database.js'
import type { SealedSecret, SecretBinding } from './secret-box.js'

/** A route as stored in its row, with the kind and the settings of its adapter instead of the adapter. */
export interface RouteDefinition extends Omit<Route, 'id' | 'adapter' | 'secret'> {
  /** One of the kinds in the stores' `adapters`. */
  readonly adapter: string
  /** The settings that the adapter is built from. Never a secret, which is sealed in a column of its own. */
  readonly settings: Readonly<Record<string, unknown>>
}

export interface RouteRow {
  readonly id: string
  readonly modelId: string
  readonly definition: RouteDefinition
  readonly secret: SealedSecret | undefined
}

export const ROUTE_COLUMNS = 'id, model_id, definition, secret_key_id, secret'

export function readRouteRow(row: Row): RouteRow {
  const keyId = readOptionalText(row, 'secret_key_id')
  const sealed = readOptionalText(row, 'secret')
  return {
    id: readText(row, 'id'),
    modelId: readText(row, 'model_id'),
    definition: readJson<RouteDefinition>(row, 'definition'),
    secret: keyId === undefined || sealed === undefined ? undefined : { keyId, sealed },
  }
}

export function bindingOf(id: string, { provider, settings }: RouteDefinition): SecretBinding {
  return { routeId: id, provider, origin: originOf(settings.baseUrl) }
}

function originOf(baseUrl: unknown): string {
  if (baseUrl === undefined) return ''
  if (typeof baseUrl !== 'string' || !URL.canParse(baseUrl))
    throw new TypeError('settings.baseUrl must be a URL')
  return new URL(baseUrl).origin
}
