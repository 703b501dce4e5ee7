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
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  removeListener(
    event: 'notification',
    listener: (message: { channel: string; payload?: string | undefined }) => void,
  ): unknown
  removeListener(event: 'error' | 'end', listener: () => void): unknown
}

export interface PostgresQuery {
  readonly text: string
  readonly values?: unknown[]
  /** Returns cells as the server's text, whatever parsers the host has set for its own queries. */
  readonly types?: { getTypeParser(): (text: string) => unknown }
}
