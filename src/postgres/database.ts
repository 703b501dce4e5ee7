import type { Row, SqlDatabase, Statement, Topic } from '../sql/database.js'
import { checkParameters } from '../sql/parameters.js'
import type { Listener } from './listener.js'
import type { Queries } from './query.js'

/** SQL for the server's time, in milliseconds since the Unix epoch. */
export const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint'

/** PostgreSQL accepts payloads of up to 7,999 bytes. */
const MAX_ID_BYTES = 7_900

/**
 * SQL for how far a replica is behind. It is up to date if it has replayed everything received, as long as it receives. Otherwise,
 * the time of the last commit that it has replayed counts: routers commit every few seconds.
 */
const BEHIND = `case
  when not pg_is_in_recovery() then 0
  when pg_last_wal_replay_lsn() >= pg_last_wal_receive_lsn() and exists (select from pg_stat_wal_receiver) then 0
  else floor(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::bigint end`

/**
 * Runs statements on a host's pool. Awaits `ready` before each.
 *
 * @param replica where reports run that may be behind
 */
export function createPostgresDatabase(
  queries: Queries,
  listener: Listener,
  ready: () => Promise<void>,
  replica?: Queries,
): SqlDatabase {
  return {
    engine: 'postgres',
    now: NOW,
    ...(replica !== undefined && { behind: BEHIND }),
    async all(statement) {
      checkParameters([statement])
      await ready()
      return (statement.mayLag ? (replica ?? queries) : queries).run(statement)
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
    // The payload contains ids and never data. An id that does not fit is longer than any stored id.
    change: (topic: Topic, id = '') => ({
      text: 'select pg_notify(?1, ?2)',
      parameters: [queries.schema, `${topic}:${Buffer.byteLength(id) > MAX_ID_BYTES ? '' : id}`],
    }),
    changeEach: (topic: Topic, { text, parameters = [] }: Statement) => ({
      text: `select pg_notify(?${parameters.length + 1}, ?${parameters.length + 2} || changed.id) from (${text}) changed`,
      parameters: [...parameters, queries.schema, `${topic}:`],
    }),
    watch: listener.watch,
  }
}
