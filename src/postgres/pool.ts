/** What is asked of a pool. A `Pool` of `pg` fits as it is. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  /** As a `Pool` of `pg` has them. Without `max`, it counts as 10, which is the default of `pg`. */
  readonly options?: { readonly max?: number | undefined }
}

export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: unknown[] }>
  /** Back to the pool; with an error or `true`, the connection is thrown away instead. */
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
  /** Cells come as the text that the server sent, whatever parsers the host has set for its own queries. */
  readonly types?: { getTypeParser(): (text: string) => unknown }
}
