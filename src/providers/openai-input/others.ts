import type { ProviderRequest } from '../../contracts/providers.js'
import { unsupported } from '../../conversation/unsupported.js'
import { isNeutral } from '../../protocol/request-fields/known-fields.js'

const NOT_PARAMETERS = new Set(['model', 'turns', 'stream', 'stream_options'])

/**
 * Returns the parameters of a request that are not in `read` and whose value has an effect: it is not null and does not
 * ask for the default behaviour.
 */
export function otherParameters(request: ProviderRequest, read: ReadonlySet<string>): Map<string, unknown> {
  const others = new Map<string, unknown>()
  for (const [field, value] of Object.entries(request)) {
    if (value === null || value === undefined || NOT_PARAMETERS.has(field) || read.has(field)) continue
    if (!isNeutral(field, value)) others.set(field, value)
  }
  return others
}

/** Throws for the first remaining parameter, if any. */
export function refuseParameters(others: ReadonlyMap<string, unknown>): void {
  const [field] = others.keys()
  if (field === undefined) return
  throw unsupported(
    field,
    `${field}: this parameter, or this value of it, is not supported by this provider.`,
  )
}
