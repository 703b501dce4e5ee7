import type { CallsConnection } from '../sql/calls.js'
import { fromLines, toArray, toLines } from './arrays.js'
import type { Queries } from './query.js'

/** Writes calls on a connection that no other statement waits for. */
export function createCallsConnection(queries: Queries, ready: () => Promise<void>): CallsConnection {
  return {
    async insert({ table, types, onConflict, columns }) {
      await ready()
      const names = Object.keys(types)
      const arrays = names.map((name, index) =>
        types[name] === 'json' ? fromLines(`?${index + 1}`) : `?${index + 1}::${types[name]}[]`,
      )
      await queries.run({
        text: `insert into {${table}} as known (${names.join(', ')})
          select * from unnest(${arrays.join(', ')}) ${onConflict}`,
        parameters: names.map((name, index) =>
          types[name] === 'json' ? toLines(columns[index]!) : toArray(columns[index]!),
        ),
      })
    },
    async run(statement) {
      await ready()
      return (await queries.run(statement)).length
    },
  }
}
