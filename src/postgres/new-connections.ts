import type { EventEmitter } from 'node:events'
import type { PostgresClient, PostgresPool } from './pool.js'

/**
 * Hears what goes wrong with a new connection before whoever asked for it can. A server that is shut down, or told to end
 * its connections, may say so in the same packet as that it is ready: `pg` reads both in one go, and an error that nobody
 * listens for ends the process. Only a pool that tells of new connections, as `Pool` of `pg` does, has this gap.
 *
 * @returns what ends it
 */
export function hearNewConnections(pool: PostgresPool): () => void {
  const { on, removeListener } = pool as Partial<Pick<EventEmitter, 'on' | 'removeListener'>>
  if (typeof on !== 'function' || typeof removeListener !== 'function') return () => undefined
  on.call(pool, 'connect', hearForNow)
  return () => {
    removeListener.call(pool, 'connect', hearForNow)
  }
}

/** Until this turn is over: from then on it is its owner's, who may want to know. */
function hearForNow(client: Pick<PostgresClient, 'on' | 'removeListener'>): void {
  const ignore = () => undefined
  client.on('error', ignore)
  setImmediate(() => client.removeListener('error', ignore))
}
