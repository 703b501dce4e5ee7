import type { CatalogueStore, Model } from '../contracts/index.js'
import { readJson } from './cells.js'
import type { SqlDatabase } from './database.js'
import { UNSTORABLE_PATTERN } from './text.js'

/** The host's models, read from the database in the order in which they were first added. */
export function createSqlCatalogue(database: SqlDatabase): CatalogueStore {
  return {
    async list() {
      const rows = await database.all({ text: 'select definition from {models} order by position, id' })
      return rows.map((row) => readJson<Model>(row, 'definition'))
    },
    async get(id) {
      // The id comes from a client. If a database cannot store it, no model has it.
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
