import type { Row, SqlDatabase, Topic } from '../sql/database.js'
import { checkParameters } from '../sql/parameters.js'
import { NOW } from './function-settings.js'
import type { Listener } from './listener.js'
import type { Queries } from './query.js'

/** PostgreSQL takes payloads of up to 7,999 bytes. */
const MAX_ID_BYTES = 7_900

/** The engine's way of running statements, over a host's pool. `ready` is awaited before each. */
export function createPostgresDatabase(
  queries: Queries,
  listener: Listener,
  ready: () => Promise<void>,
): SqlDatabase {
  return {
    engine: 'postgres',
    now: NOW,
    async all(statement) {
      checkParameters([statement])
      await ready()
      return queries.run(statement)
    },
    async batch(statements) {
      checkParameters(statements)
      await ready()
      return queries.transaction(async (run) => {
        const results: (readonly Row[])[] = []
        for (const statement of statements) results.push(await run(statement))
        return results
      })
    },
    // The payload holds ids and never what changed. An id that does not fit into one is longer than any that is stored.
    change: (topic: Topic, id = '') => ({
      text: 'select pg_notify(?1, ?2)',
      parameters: [queries.schema, `${topic}:${Buffer.byteLength(id) > MAX_ID_BYTES ? '' : id}`],
    }),
    watch: listener.watch,
  }
}
