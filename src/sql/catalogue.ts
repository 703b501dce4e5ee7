import type { CatalogueStore, Model } from '../contracts/index.js'
import { readJson } from './cells.js'
import type { SqlDatabase } from './database.js'
import { UNSTORABLE_PATTERN } from './text.js'

/** The host's models, read from their rows in the order in which they were first put. */
export function createSqlCatalogue(database: SqlDatabase): CatalogueStore {
  return {
    async list() {
      const rows = await database.all({ text: 'select definition from {models} order by position, id' })
      return rows.map((row) => readJson<Model>(row, 'definition'))
    },
    async get(id) {
      // Comes from a client, and what no row can hold is no model.
      if (UNSTORABLE_PATTERN.test(id)) return undefined
      const [row] = await database.all({
        text: 'select definition from {models} where id = ?1',
        parameters: [id],
      })
      return row === undefined ? undefined : readJson<Model>(row, 'definition')
    },
    watch: (changed, connection) => database.watch('models', changed, connection),
  }
}
