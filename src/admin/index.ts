import { z } from 'zod'
import { createOrderedIdSource } from '../base/ids.js'
import type { Balance, CallPage, EntryPage, KeptCall } from '../contracts/index.js'
import { refuseUnknown } from '../rules/option-checks.js'
import { idSchema, parseInput, whose } from '../rules/schemas.js'
import type { PayerQuery } from '../sql/entries.js'
import { findCall, type KeptCallsQuery } from '../sql/read-calls.js'
import type { DurableStores } from '../sql/stores.js'
import { type AccountsAdmin, createAccountsAdmin } from './accounts.js'
import { type AppFiguresAdmin, createAppFiguresAdmin } from './app-figures.js'
import type { AppRules } from './app-input.js'
import { type AppsAdmin, createAppsAdmin } from './apps.js'
import { type CatalogueAdmin, createCatalogueAdmin } from './catalogue.js'
import { type ConnectedAppsAdmin, createConnectedAppsAdmin } from './connected-apps.js'
import { type CredentialsAdmin, createCredentialsAdmin } from './credentials.js'
import { listCalls, listEntries } from './entries.js'
import { freeHold, type OpenHold, type OpenHoldsQuery, readOpenHolds } from './holds.js'
import { createMaintenanceAdmin, type MaintenanceAdmin } from './maintenance.js'
import { createOwnAppsAdmin, type OwnAppsAdmin } from './own-apps.js'
import { createRouteFaults, type RouteFaultsAdmin } from './route-faults.js'
import { createRoutesAdmin, type RoutesAdmin } from './routes.js'
import { createSessionsAdmin, type SessionsAdmin } from './sessions.js'
import {
  readSpend,
  readSpendReport,
  type SpendQuery,
  type SpendReport,
  type SpendReportQuery,
  type SpendRow,
} from './spend.js'
import { type AccountStatement, readStatement } from './statement.js'
import { createLimitsAdmin, type LimitsAdmin } from './usage-limits.js'

export type { HistoryKind } from '../sql/connect-history.js'
export type { PayerQuery } from '../sql/entries.js'
export type { PostedEntry } from '../sql/grants.js'
export type { KeptCallsQuery } from '../sql/read-calls.js'
export type { RouteDefinition } from '../sql/route-rows.js'
export type { AccountRow, AccountsAdmin, CorrectionRequest, GrantRequest, RefundOptions } from './accounts.js'
export type { AppFigures, AppFiguresAdmin, AppFiguresQuery } from './app-figures.js'
export type { AppRequest, AppRules, OwnAppRequest } from './app-input.js'
export type {
  AppEdit,
  AppEditKind,
  AppReview,
  AppRow,
  AppsQuery,
  ReviewedValues,
} from './app-rows.js'
export type { AppsAdmin } from './apps.js'
export type { CatalogueAdmin, ModelRequest, PutOptions } from './catalogue.js'
export type {
  CapRequest,
  ConnectedAppsAdmin,
  DeviceRow,
  GrantChange,
  GrantEvent,
  GrantRow,
  GrantsQuery,
} from './connected-apps.js'
export type { CredentialRow, CredentialsQuery } from './credential-rows.js'
export type {
  AccessTokenRequest,
  AppTerms,
  BearerRequest,
  CredentialsAdmin,
  IssuedCredential,
  KeyRequest,
  ReissueOptions,
} from './credentials.js'
export type { OpenHold, OpenHoldsQuery } from './holds.js'
export type { MaintenanceAdmin } from './maintenance.js'
export type { OwnAppsAdmin } from './own-apps.js'
export type { RouteFault, RouteFaultsAdmin } from './route-faults.js'
export type { RouteListing, RouteRequest, RoutesAdmin, RoutesQuery } from './routes.js'
export {
  type SessionHandler,
  type SessionHandlerOptions,
  type SessionUser,
  sessionHandler,
} from './session-handler.js'
export type { SessionBudget, SessionRequest, SessionsAdmin, SessionToken } from './sessions.js'
export type { SpendBooks, SpendQuery, SpendReport, SpendReportQuery, SpendRow } from './spend.js'
export type { AccountStatement } from './statement.js'
export { type ToJson, toJson } from './to-json.js'
export type { LimitRequest, LimitRow, LimitsAdmin, LimitsQuery } from './usage-limits.js'
export type { Discrepancy } from './verify.js'

/**
 * Everything that a host's own admin pages need, as functions. Bad input rejects with a `TypeError` or a `RangeError`
 * that names the fault. Changes take effect in every process on the database within a second.
 */
export interface Admin
  extends AccountsAdmin,
    CredentialsAdmin,
    SessionsAdmin,
    CatalogueAdmin,
    AppsAdmin,
    OwnAppsAdmin,
    ConnectedAppsAdmin,
    AppFiguresAdmin,
    RoutesAdmin,
    RouteFaultsAdmin,
    LimitsAdmin,
    MaintenanceAdmin {
  /** Returns undefined if the account does not exist. */
  balance(account: string): Promise<Balance | undefined>
  /** Newest first, in pages. */
  entries(query?: PayerQuery): Promise<EntryPage>
  /** Returns how calls ended, newest first, in pages: calls of all processes, including failures and refusals. */
  listCalls(query?: KeptCallsQuery): Promise<CallPage>
  /**
   * Returns the recorded call with this id. If there is none, returns the newest one with this request id. With an
   * account, finds only that account's calls. Returns undefined if there is none.
   */
  getCall(id: string, query?: { readonly account?: string }): Promise<KeptCall | undefined>
  spend(query: SpendQuery): Promise<readonly SpendRow[]>
  /** {@link spend} in pages, with a grand total, compared with the postings of the same charges. */
  spendReport(query: SpendReportQuery): Promise<SpendReport>
  /** Returns how a balance came about. Undefined if the account does not exist. */
  statement(account: string): Promise<AccountStatement | undefined>
  /** Returns the calls in flight in all processes, by the credit reserved for them. */
  openHolds(query?: OpenHoldsQuery): Promise<readonly OpenHold[]>
  /**
   * Releases an open hold by hand, and with it the `Idempotency-Key` of its call. If the call is still running, it is
   * charged anyway, even below zero. Rejects with a `Refusal` if the hold is not open.
   */
  freeHold(holdId: string): Promise<void>
}

export interface AdminOptions {
  /**
   * The most API keys and access tokens that one account may have in use, neither revoked nor expired. 100 by default.
   * Includes those issued by other processes.
   */
  readonly keysPerAccount?: number
  /** The host's rules for apps that users can connect. */
  readonly apps?: AppRules
}

const KEYS_PER_ACCOUNT = 100

const callSchema = z.strictObject({ account: whose(idSchema) })

/** Administers the stores of one database, as created by `sqliteStores` or `postgresStores`. */
export function createAdmin(
  stores: Pick<DurableStores, 'database' | 'secrets' | 'ledger' | 'adapters'>,
  options: AdminOptions = {},
): Admin {
  if (typeof stores?.database !== 'object') {
    throw new TypeError('createAdmin needs the stores of sqliteStores({ file }) or postgresStores(pool)')
  }
  refuseUnknown(options, ['keysPerAccount', 'apps'], 'createAdmin')
  const { keysPerAccount = KEYS_PER_ACCOUNT, apps = {} } = options
  if (!Number.isSafeInteger(keysPerAccount) || keysPerAccount < 1) {
    throw new TypeError(
      `createAdmin: keysPerAccount must be a positive integer; got ${String(keysPerAccount)}`,
    )
  }
  const { database, secrets, ledger, adapters } = stores
  const newHistoryId = createOrderedIdSource()
  const faults = createRouteFaults(database, secrets, adapters)
  const context = { requestId: 'admin', signal: new AbortController().signal }
  return {
    ...createAccountsAdmin(database),
    ...createCredentialsAdmin(database, keysPerAccount),
    ...createSessionsAdmin(database),
    ...createCatalogueAdmin(database),
    ...createAppsAdmin(database, apps, newHistoryId),
    ...createOwnAppsAdmin(database, apps, newHistoryId),
    ...createConnectedAppsAdmin(database, newHistoryId),
    ...createAppFiguresAdmin(database),
    ...createRoutesAdmin(database, secrets, faults),
    ...faults,
    ...createLimitsAdmin(database),
    ...createMaintenanceAdmin(database),
    balance: async (account) => ledger.balance(parseInput(idSchema, account, 'account'), context),
    entries: (query = {}) => listEntries(database, query),
    listCalls: (query = {}) => listCalls(database, query),
    getCall: async (id, query = {}) => {
      const { account } = parseInput(callSchema, query, 'call')
      return findCall(database, account, parseInput(idSchema, id, 'call id'))
    },
    spend: (query) => readSpend(database, query),
    spendReport: (query) => readSpendReport(database, query),
    statement: (account) => readStatement(database, account),
    openHolds: (query = {}) => readOpenHolds(database, query),
    freeHold: async (holdId) => freeHold(database, ledger, parseInput(idSchema, holdId, 'hold id'), context),
  }
}
