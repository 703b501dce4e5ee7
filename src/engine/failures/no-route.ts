import { CompatError } from '../../base/errors.js'

/** The error for a call that no route took. `nextProbeInMs` is Infinity if no route refused it because it is failing. */
export function noRoute(modelId: string, nextProbeInMs: number): CompatError {
  const message = `No provider serves the model '${modelId}' just now.`
  if (nextProbeInMs === Infinity) return new CompatError('no_route_available', message)
  return new CompatError(
    'no_route_available',
    `${message} Its providers are failing. Try again when retry-after is over.`,
    { headers: { 'retry-after': String(Math.ceil(nextProbeInMs / 1_000)) } },
  )
}
