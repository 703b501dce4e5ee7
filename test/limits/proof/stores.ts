import { postgresStores } from '../../../src/postgres/index.js'
import type { DurableStores } from '../../../src/sql/stores.js'
import { sqliteStores } from '../../../src/sqlite/index.js'
import { createPool } from '../../helpers/postgres.js'
import type { World } from './world.js'

export interface OpenStores {
  readonly stores: DurableStores
  close(): Promise<void>
}

export function openStores({ engine, place }: World): OpenStores {
  if (engine === 'SQLite') {
    const stores = sqliteStores({ file: place })
    return { stores, close: () => stores.close() }
  }
  const pool = createPool(place, 6)
  const stores = postgresStores(pool)
  return {
    stores,
    async close() {
      await stores.close()
      await pool.end()
    },
  }
}
