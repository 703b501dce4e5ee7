import type { EventEmitter } from 'node:events'

/** The parts of a pool that the stores use. A `Pool` of `pg` fits. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  /** As in a `Pool` of `pg`. If absent, `max` is 10, the default of `pg`. */
  readonly options?: { readonly max?: number | undefined }
}

export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: unknown[] }>
  /** Returns the connection to the pool. With an error or `true`, discards it instead. */
  release(broken?: Error | boolean): void
  on(
    event: 'notification',
    listener: (message: { channel: string; payload?: string | undefined }) => void,
  ): unknown
  on(event: 'notice', listener: (notice: PostgresNotice) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  removeListener(
    event: 'notification',
    listener: (message: { channel: string; payload?: string | undefined }) => void,
  ): unknown
  removeListener(event: 'notice', listener: (notice: PostgresNotice) => void): unknown
  removeListener(event: 'error' | 'end', listener: () => void): unknown
}

/** A warning of the server. */
export interface PostgresNotice {
  /** The function of the server's source that gave it. */
  readonly routine?: string | undefined
}

export interface PostgresQuery {
  readonly text: string
  readonly values?: unknown[]
  /** Returns cells as the server's text, whatever parsers the host has set for its own queries. */
  readonly types?: { getTypeParser(): (text: string) => unknown }
}

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
