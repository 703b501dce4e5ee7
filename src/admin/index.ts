import type { Balance, EntryPage } from '../contracts/index.js'
import { refuseMisspelt } from '../contracts/option-checks.js'
import { idSchema, parseInput } from '../contracts/schemas.js'
import { type PayerQuery, readEntries } from '../sql/entries.js'
import type { DurableStores } from '../sql/stores.js'
import { type AccountsAdmin, createAccountsAdmin } from './accounts.js'
import { type CatalogueAdmin, createCatalogueAdmin } from './catalogue.js'
import { type CredentialsAdmin, createCredentialsAdmin } from './credentials.js'
import { type OpenHold, type OpenHoldsQuery, readOpenHolds } from './holds.js'
import { createMaintenanceAdmin, type MaintenanceAdmin } from './maintenance.js'
import { createRouteFaults, type RouteFaultsAdmin } from './route-faults.js'
import { createRoutesAdmin, type RoutesAdmin } from './routes.js'
import {
  readSpend,
  readSpendReport,
  type SpendQuery,
  type SpendReport,
  type SpendReportQuery,
  type SpendRow,
} from './spend.js'
import { type AccountStatement, readStatement } from './statement.js'

export type { PayerQuery } from '../sql/entries.js'
export type { PostedEntry } from '../sql/grants.js'
export type { RouteDefinition } from '../sql/route-rows.js'
export type { AccountRow, AccountsAdmin, CorrectionRequest, GrantRequest } from './accounts.js'
export type { AppRow, CatalogueAdmin, ModelRequest, PutOptions } from './catalogue.js'
export type { CredentialRow, CredentialsQuery } from './credential-rows.js'
export type {
  AccessTokenRequest,
  CredentialsAdmin,
  IssuedCredential,
  KeyRequest,
  ReissueOptions,
} from './credentials.js'
export type { OpenHold, OpenHoldsQuery } from './holds.js'
export type { MaintenanceAdmin } from './maintenance.js'
export type { RouteFault, RouteFaultsAdmin } from './route-faults.js'
export type { RouteListing, RouteRequest, RoutesAdmin, RoutesQuery } from './routes.js'
export type { SpendBooks, SpendQuery, SpendReport, SpendReportQuery, SpendRow } from './spend.js'
export type { AccountStatement } from './statement.js'
export type { Discrepancy } from './verify.js'

/**
 * Everything that a host's own admin pages need, as functions. Bad input rejects with a `TypeError` that says what is
 * wrong. What changes takes effect in every process on the database within a second.
 */
export interface Admin
  extends AccountsAdmin,
    CredentialsAdmin,
    CatalogueAdmin,
    RoutesAdmin,
    RouteFaultsAdmin,
    MaintenanceAdmin {
  /** Undefined if there is no such account. */
  balance(account: string): Promise<Balance | undefined>
  /** Newest first, in pages. */
  entries(query?: PayerQuery): Promise<EntryPage>
  spend(query: SpendQuery): Promise<readonly SpendRow[]>
  /** {@link spend} in pages, with the total of all, held against the postings of the same charges. */
  spendReport(query: SpendReportQuery): Promise<SpendReport>
  /** Returns the origin of a balance. Undefined if there is no such account. */
  statement(account: string): Promise<AccountStatement | undefined>
  /** Calls under way in all processes, by the credit that is set aside for them. */
  openHolds(query?: OpenHoldsQuery): Promise<readonly OpenHold[]>
}

export interface AdminOptions {
  /**
   * How many API keys and access tokens of one account may be in use, neither revoked nor expired. 100 by default. It holds
   * for whoever issues one, also in other processes.
   */
  readonly keysPerAccount?: number
}

const KEYS_PER_ACCOUNT = 100

/** Administration of the stores of one database, made by `sqliteStores` or `postgresStores`. */
export function createAdmin(
  stores: Pick<DurableStores, 'database' | 'secrets' | 'ledger' | 'adapters'>,
  options: AdminOptions = {},
): Admin {
  if (typeof stores?.database !== 'object') {
    throw new TypeError('createAdmin needs the stores of sqliteStores({ file }) or postgresStores(pool)')
  }
  refuseMisspelt(options, ['keysPerAccount'], 'createAdmin')
  const { keysPerAccount = KEYS_PER_ACCOUNT } = options
  if (!Number.isSafeInteger(keysPerAccount) || keysPerAccount < 1) {
    throw new TypeError(
      `createAdmin: keysPerAccount must be a positive integer; got ${String(keysPerAccount)}`,
    )
  }
  const { database, secrets, ledger, adapters } = stores
  const context = { requestId: 'admin', signal: new AbortController().signal }
  return {
    ...createAccountsAdmin(database),
    ...createCredentialsAdmin(database, keysPerAccount),
    ...createCatalogueAdmin(database),
    ...createRoutesAdmin(database, secrets),
    ...createRouteFaults(database, secrets, adapters),
    ...createMaintenanceAdmin(database),
    balance: async (account) => ledger.balance(parseInput(idSchema, account, 'account'), context),
    entries: (query = {}) => readEntries(database, query),
    spend: (query) => readSpend(database, query),
    spendReport: (query) => readSpendReport(database, query),
    statement: (account) => readStatement(database, account),
    openHolds: (query = {}) => readOpenHolds(database, query),
  }
}
