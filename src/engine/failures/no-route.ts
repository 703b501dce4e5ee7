import { CompatError } from '../../base/errors.js'

/** Returns the error for a call that no route accepted. `nextProbeInMs` is Infinity unless a failing route refused it. */
export function noRoute(modelId: string, nextProbeInMs: number): CompatError {
  const message = `No provider serves the model '${modelId}' just now.`
  if (nextProbeInMs === Infinity) return new CompatError('no_route_available', message)
  return new CompatError(
    'no_route_available',
    `${message} Its providers are failing. Try again when retry-after is over.`,
    { headers: { 'retry-after': String(Math.ceil(nextProbeInMs / 1_000)) } },
  )
}
