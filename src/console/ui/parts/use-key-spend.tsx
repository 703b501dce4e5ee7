import type { ComponentChildren } from 'preact'
import { useLoad } from '../base/use-load.js'
import { Amount } from './values.js'

/**
 * Returns a function that shows the total cost of the calls with a credential. The sums take longer than a list and
 * arrive later.
 */
export function useKeySpend(credentialIds: readonly string[]): (credentialId: string) => ComponentChildren {
  const ids = credentialIds.join(',')
  const { data, problem } = useLoad('keys/spend', { ids }, { isOff: ids === '' })
  if (data === undefined) return () => (problem === undefined ? '…' : '–')
  const costs = new Map(data.spend.map(({ cost, credentialId }) => [credentialId, cost]))
  return (credentialId) => <Amount value={costs.get(credentialId) ?? '0'} />
}
