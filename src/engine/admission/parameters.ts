import type { Model } from '../../contracts/catalogue.js'
import type { Route } from '../../contracts/providers.js'
import { CompatError } from '../../errors.js'
import type { ParsedChatRequest } from '../../protocol/chat-request.js'
import { isNeutral, KNOWN_FIELDS, SAME_FIELDS } from '../../protocol/request-fields/known-fields.js'
import { cleanLabel } from '../../protocol/text.js'

const MAX_DETAILS = 20
const SHOWN_CHARS = 64

/** Reaches every provider, whatever a list names: who the end user is. */
const ALWAYS_SUPPORTED = new Set(['model', 'messages', 'stream', 'user'])

type Request = Pick<ParsedChatRequest, 'forward' | 'unlisted'>

/**
 * Refuses a request with a known parameter that the model's list does not name: 400 `unsupported_parameter`, `param`
 * naming the first such parameter, `details` at most 20. What must be named is for {@link servesParameters} to decide,
 * since a route may name it too.
 */
export function checkParameters(model: Model, request: Request): void {
  const { supportedParameters } = model
  if (supportedParameters === undefined) return
  const unsupported = unsupportedKnown(supportedParameters, request)
  if (unsupported.length === 0) return
  const details = unsupported.map((parameter) => ({
    param: parameter,
    message: `The model '${model.id}' does not support the parameter ${parameter}.`,
  }))
  throw new CompatError('unsupported_parameter', details[0]!.message, { param: unsupported[0], details })
}

/** Whether a route may be sent what the request holds beyond the fields that every provider may be sent. */
export function servesParameters({ unlisted }: Request, model: Model, route: Route): boolean {
  return unlisted.every(
    ({ name }) =>
      model.supportedParameters?.includes(name) === true ||
      route.supportedParameters?.includes(name) === true ||
      route.adapter.parameters?.includes(name) === true,
  )
}

/** The 400 for a request whose unlisted parameters no route allows. */
export function unlistedParameters({ unlisted }: Request, model: Model): CompatError {
  const details = unlisted.slice(0, MAX_DETAILS).map(({ name, param }) => {
    const shown = cleanLabel(name, SHOWN_CHARS)
    const place = param === name ? shown : cleanLabel(param, 2 * SHOWN_CHARS)
    const at = place === shown ? '' : ` (${place})`
    return {
      param: place,
      message:
        `The parameter ${shown}${at} is not passed on to the model '${model.id}', since a provider may bill for it or ` +
        "read another request in it. The host of this service can allow it: by its name in the model's supportedParameters.",
    }
  })
  return new CompatError('unsupported_parameter', details[0]!.message, { param: details[0]!.param, details })
}

/** Whether a route with this list takes every parameter of a request, unlisted ones included. */
export function supportsAll(request: Request, model: Model, route: Route): boolean {
  const supported = route.supportedParameters ?? model.supportedParameters
  if (!servesParameters(request, model, route)) return false
  return supported === undefined || unsupportedKnown(supported, request).length === 0
}

function unsupportedKnown(supported: readonly string[], { forward }: Request): string[] {
  const unsupported: string[] = []
  for (const field of Object.keys(forward)) {
    if (unsupported.length >= MAX_DETAILS) break
    if (!ALWAYS_SUPPORTED.has(field) && !isNamed(field, supported) && !isNeutral(field, forward[field])) {
      unsupported.push(field)
    }
  }
  return unsupported
}

/** Whether a list names a field, or the one that means the same. A field that is not known is judged elsewhere. */
function isNamed(field: string, supported: readonly string[]): boolean {
  if (supported.includes(field) || !KNOWN_FIELDS.has(field)) return true
  return SAME_FIELDS.some((same) => same.includes(field) && same.some((name) => supported.includes(name)))
}
