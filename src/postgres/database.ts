import type { Row, SqlDatabase, Topic } from '../sql/database.js'
import { checkParameters } from '../sql/parameters.js'
import { NOW } from './function-settings.js'
import type { Listener } from './listener.js'
import type { Queries } from './query.js'

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
    // The payload holds ids and never what changed.
    change: (topic: Topic, id = '') => ({
      text: 'select pg_notify(?1, ?2)',
      parameters: [queries.schema, `${topic}:${id}`],
    }),
    watch: listener.watch,
  }
}
