import { createOrderedIdSource } from '../base/ids.js'
import type { ConnectStore } from '../contracts/index.js'
import { createSqlConnectApps } from './connect-apps.js'
import { sweep } from './connect-sweep.js'
import { createSqlConnectTokens } from './connect-tokens.js'
import { createSqlConnectedApps } from './connected-apps.js'
import { createSqlConnections } from './connections.js'
import type { SqlDatabase } from './database.js'
import { createSqlOauth } from './oauth.js'

export function createSqlConnect(database: SqlDatabase): ConnectStore {
  const newId = createOrderedIdSource()
  return {
    ...createSqlConnectApps(database),
    ...createSqlConnectedApps(database, newId),
    ...createSqlConnections(database, newId),
    ...createSqlConnectTokens(database),
    ...createSqlOauth(database),
    sweep: (limit) => sweep(database, limit),
  }
}
