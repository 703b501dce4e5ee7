export type { AdapterFactories } from '../sql/registry.js'
export type { SecretKey } from '../sql/secret-box.js'
export type { DurableStores } from '../sql/stores.js'
export { type SqliteStoresOptions, sqliteStores } from './stores.js'
