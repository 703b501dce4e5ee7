import type { CallsConnection } from '../sql/calls.js'
import { packColumn } from './messages.js'
import type { WorkerClient } from './worker-client.js'

/** Writes calls in a separate thread. */
export function createCallsConnection(worker: WorkerClient): CallsConnection {
  return {
    async insert({ table, types, onConflict, columns }) {
      const names = Object.keys(types)
      const values = names.map((_, index) => `?${index + 1}`)
      await worker.ask({
        kind: 'insert',
        text: `insert into {${table}} as known (${names.join(', ')}) values (${values.join(', ')}) ${onConflict}`,
        columns: columns.map(packColumn),
      })
    },
    async run(statement) {
      const [rows = []] = await worker.ask({ kind: 'batch', statements: [statement] })
      return rows.length
    },
  }
}
