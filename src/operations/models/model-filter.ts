import { CompatError } from '../../base/errors.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Operation } from '../../contracts/operation.js'
import { parametersOf } from './model-object.js'

/** The models that a client asks for in the query of `GET /models`. */
export interface ModelFilter {
  /** Selects models that accept all of these. Empty for any. */
  readonly parameters: readonly string[]
  /** Selects models that serve this operation. */
  readonly operation: Operation | undefined
}

/**
 * Reads `supported_parameters`, a comma-separated list, and `operation` from a query. Returns undefined if it has
 * neither. Ignores all other fields, since model pickers send some. Throws a 400 `invalid_request` for an operation
 * that the router does not have.
 */
export function readFilter(query: string, operations: readonly Operation[]): ModelFilter | undefined {
  if (query === '') return undefined
  const fields = new URLSearchParams(query)
  const parameters = fields.getAll('supported_parameters').flatMap((text) => text.split(',').filter(Boolean))
  const name = fields.get('operation') ?? undefined
  if (parameters.length === 0 && name === undefined) return undefined
  const operation = operations.find((each) => each.name === name)
  if (name !== undefined && operation === undefined) {
    throw new CompatError(
      'invalid_request',
      `operation must be ${operations.map((each) => each.name).join(' or ')}.`,
      { param: 'operation' },
    )
  }
  return { parameters, operation }
}

/** Whether a model accepts all parameters of a filter. */
export function takesParameters(model: Model, { parameters }: ModelFilter): boolean {
  if (parameters.length === 0) return true
  const taken = new Set(parametersOf(model))
  return parameters.every((name) => taken.has(name))
}
