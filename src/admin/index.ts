import type { Balance, EntryPage, EntryQuery } from '../contracts/index.js'
import type { DurableStores } from '../sql/stores.js'
import { type AccountsAdmin, createAccountsAdmin } from './accounts.js'
import { type CatalogueAdmin, createCatalogueAdmin } from './catalogue.js'
import { type CredentialsAdmin, createCredentialsAdmin } from './credentials.js'
import { createMaintenanceAdmin, type MaintenanceAdmin } from './maintenance.js'
import { createRoutesAdmin, type RoutesAdmin } from './routes.js'
import { readSpend, type SpendQuery, type SpendRow } from './spend.js'

export type { AccountRow, AccountsAdmin, CorrectionRequest, GrantRequest } from './accounts.js'
export type { AppRow, CatalogueAdmin, ModelRequest } from './catalogue.js'
export type {
  AccessTokenRequest,
  CredentialRow,
  CredentialsAdmin,
  IssuedCredential,
  KeyRequest,
  ReissueOptions,
} from './credentials.js'
export type { Discrepancy, MaintenanceAdmin } from './maintenance.js'
export type { RouteListing, RouteRequest, RoutesAdmin } from './routes.js'
export type { SpendQuery, SpendRow } from './spend.js'

/**
 * Everything that a host's own admin pages need, as functions. Bad input rejects with a `TypeError` that says what is
 * wrong. What changes takes effect in every process on the database within a second.
 */
export interface Admin
  extends AccountsAdmin,
    CredentialsAdmin,
    CatalogueAdmin,
    RoutesAdmin,
    MaintenanceAdmin {
  /** Undefined where there is no such account. */
  balance(account: string): Promise<Balance | undefined>
  /** Newest first, in pages. */
  entries(query?: EntryQuery): Promise<EntryPage>
  spend(query: SpendQuery): Promise<readonly SpendRow[]>
}

/** Administration of the stores of one database, made by `sqliteStores` or `postgresStores`. */
export function createAdmin(stores: Pick<DurableStores, 'database' | 'secrets' | 'ledger'>): Admin {
  const { database, secrets, ledger } = stores
  const context = { requestId: 'admin', signal: new AbortController().signal }
  return {
    ...createAccountsAdmin(database),
    ...createCredentialsAdmin(database),
    ...createCatalogueAdmin(database),
    ...createRoutesAdmin(database, secrets),
    ...createMaintenanceAdmin(database),
    balance: (account) => ledger.balance(account, context),
    entries: (query = {}) => ledger.entries(query, context),
    spend: (query) => readSpend(database, query),
  }
}
