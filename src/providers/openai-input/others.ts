import type { ChatRequest } from '../../protocol/chat-request.js'
import { isNeutral } from '../../protocol/request-fields/known-fields.js'
import { unsupported } from './unsupported.js'

const NO_PARAMETER = new Set(['model', 'messages', 'stream', 'stream_options'])

/**
 * The parameters of a request that are not among `read` and ask for something: not null, and no value that stands for
 * what happens anyway.
 */
export function otherParameters(request: ChatRequest, read: ReadonlySet<string>): Map<string, unknown> {
  const others = new Map<string, unknown>()
  for (const [field, value] of Object.entries(request)) {
    if (value === null || value === undefined || NO_PARAMETER.has(field) || read.has(field)) continue
    if (!isNeutral(field, value)) others.set(field, value)
  }
  return others
}

/** Refuses the first of the parameters that no one took. */
export function refuseParameters(others: ReadonlyMap<string, unknown>): void {
  const [field] = others.keys()
  if (field === undefined) return
  throw unsupported(
    field,
    `${field}: this parameter, or this value of it, is not supported by this provider.`,
  )
}
