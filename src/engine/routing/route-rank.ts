import { createHash } from 'node:crypto'
import type { Route } from '../../contracts/providers.js'

const HASH_BYTES = 6
const HASH_RANGE = 2 ** (HASH_BYTES * 8)

/**
 * Orders routes by weighted rendezvous hashing. The same key gives the same order in every process. A removed route
 * moves only its own keys. Over many keys, each route comes first in proportion to its weight.
 */
export function rankByKey(key: readonly string[], routes: readonly Route[]): Route[] {
  const scored = routes.map((route) => ({ route, score: score(key, route) }))
  return scored.sort((one, other) => other.score - one.score).map(({ route }) => route)
}

function score(key: readonly string[], route: Route): number {
  const weight = route.weight ?? 1
  const digest = createHash('sha256')
    .update(JSON.stringify([...key, route.id]))
    .digest()
  const share = (digest.readUIntBE(0, HASH_BYTES) + 1) / (HASH_RANGE + 1)
  return weight > 0 ? weight / -Math.log(share) : -1 / share
}
