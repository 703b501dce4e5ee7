import { CompatError } from '../../base/errors.js'
import type { Model } from '../../contracts/catalogue.js'
import type { Asked, Operation } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import { cleanLabel } from '../../protocol/text.js'

const MAX_DETAILS = 20
const SHOWN_CHARS = 64

/**
 * Refuses a request with a known parameter that the model's list does not name. The error is a 400
 * `unsupported_parameter`: `param` names the first such parameter, and `details` lists at most 20. Parameters that must
 * be listed are left to {@link servesParameters}, since a route may list them too.
 */
export function checkParameters(operation: Operation, asked: Asked, model: Model): void {
  const { supportedParameters } = model
  if (supportedParameters === undefined) return
  const unsupported = operation.unsupported(asked, supportedParameters)
  if (unsupported.length === 0) return
  const details = unsupported.map((parameter) => ({
    param: parameter,
    message: `The model '${model.id}' does not support the parameter ${parameter}.`,
  }))
  throw new CompatError('unsupported_parameter', details[0]!.message, { param: unsupported[0], details })
}

/** Whether a route may receive the request's fields beyond those that every provider may receive. */
export function servesParameters({ unlisted }: Asked, model: Model, route: Route): boolean {
  return unlisted.every(
    ({ name }) =>
      model.supportedParameters?.includes(name) === true ||
      route.supportedParameters?.includes(name) === true ||
      route.adapter.parameters?.includes(name) === true,
  )
}

/** Returns the 400 for a request whose unlisted parameters no route allows. */
export function unlistedParameters({ unlisted }: Asked, model: Model): CompatError {
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

/** Whether a route supports every parameter of a request and may receive it. */
export function supportsAll(operation: Operation, asked: Asked, model: Model, route: Route): boolean {
  const supported = route.supportedParameters ?? model.supportedParameters
  if (!servesParameters(asked, model, route)) return false
  return supported === undefined || operation.unsupported(asked, supported).length === 0
}
