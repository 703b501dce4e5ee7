import type { SqlDatabase, Statement, Topic } from '../sql/database.js'
import { checkParameters } from '../sql/parameters.js'
import { createChangePoll } from './change-poll.js'
import type { WorkerClient } from './worker-client.js'

/** SQL for the time of the machine's clock. */
export const NOW = "cast(round(unixepoch('subsec') * 1000) as integer)"

/** Runs statements in one thread, and reports, which may take long, in another. */
export function createSqliteDatabase(
  rows: WorkerClient,
  reports: WorkerClient,
): SqlDatabase & { close(): void } {
  const poll = createChangePoll((statements) => batch(statements))

  async function batch(statements: readonly Statement[], worker = rows) {
    checkParameters(statements)
    return worker.ask({ kind: 'batch', statements })
  }

  return {
    engine: 'sqlite',
    now: NOW,
    async all(statement) {
      const [found = []] = await batch([statement], statement.isReport ? reports : rows)
      return found
    },
    async batch(statements) {
      const found = await batch(statements)
      poll.soon()
      return found
    },
    change: (topic: Topic, id = '') => ({
      text: `insert into {changes} (topic, id, at) values (?1, ?2, ${NOW})`,
      parameters: [topic, id],
    }),
    changeEach: (topic: Topic, { text, parameters = [] }: Statement) => ({
      text: `insert into {changes} (topic, id, at) select ?${parameters.length + 1}, id, ${NOW} from (${text}) where true`,
      parameters: [...parameters, topic],
    }),
    watch: poll.watch,
    close: poll.close,
  }
}
