import type { ProviderEvent, TakeEvents } from '../contracts/providers.js'

/** Reports the fields and parts of a request that a provider was not sent, with the first events of its reply. */
export function reportingLosses(lost: readonly string[], take: TakeEvents): TakeEvents {
  if (lost.length === 0) return take
  let left = lost
  return (events, heldBytes) => {
    const reports = left.map(
      (dropped): ProviderEvent => ({ type: 'mended', kind: 'parameter-ignored', dropped }),
    )
    left = []
    return take([...reports, ...events], heldBytes)
  }
}
