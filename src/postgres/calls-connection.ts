import type { CallsConnection } from '../sql/calls.js'
import { toArray } from './arrays.js'
import type { Queries } from './query.js'

/** Writes calls on a connection that no other statement waits for. */
export function createCallsConnection(queries: Queries, ready: () => Promise<void>): CallsConnection {
  return {
    async insert({ table, columns, onConflict, rows }) {
      await ready()
      const types = Object.entries(columns)
      const arrays = types.map(([, type], index) => `?${index + 1}::${type}[]`)
      await queries.run({
        text: `insert into {${table}} as known (${types.map(([name]) => name).join(', ')})
          select * from unnest(${arrays.join(', ')}) ${onConflict}`,
        parameters: types.map((_, index) => toArray(rows.map((row) => row[index]!))),
      })
    },
    async run(statement) {
      await ready()
      return (await queries.run(statement)).length
    },
  }
}
