import type { EventEmitter } from 'node:events'
import type { PostgresClient, PostgresPool } from './pool.js'

/**
 * Handles errors of a new connection until its owner can. A server that shuts down or ends its connections may report that
 * in the same packet as its readiness. `pg` reads both at once, and an error without a listener ends the process. Only a
 * pool that emits `connect`, as `Pool` of `pg` does, has this gap.
 *
 * @returns a function that stops the handling
 */
export function hearNewConnections(pool: PostgresPool): () => void {
  const { on, removeListener } = pool as Partial<Pick<EventEmitter, 'on' | 'removeListener'>>
  if (typeof on !== 'function' || typeof removeListener !== 'function') return () => undefined
  on.call(pool, 'connect', hearForNow)
  return () => {
    removeListener.call(pool, 'connect', hearForNow)
  }
}

/** Ignores errors until this turn is over. From then on, the connection's owner handles them. */
function hearForNow(client: Pick<PostgresClient, 'on' | 'removeListener'>): void {
  const ignore = () => undefined
  client.on('error', ignore)
  setImmediate(() => client.removeListener('error', ignore))
}
