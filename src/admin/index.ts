import { z } from 'zod'
import { createOrderedIdSource } from '../base/ids.js'
import { optionsSchema, readOptions } from '../rules/read-options.js'
import { markupSchema, nameSchema, parseInput } from '../rules/schemas.js'
import { createRecorder, type Recorder } from '../sql/audit.js'
import { OPERATOR } from '../sql/connect-history.js'
import type { DurableStores } from '../sql/stores.js'
import { type AccountsAdmin, createAccountsAdmin } from './accounts.js'
import type { AppRules } from './app-input.js'
import { type AppsAdmin, createAppsAdmin } from './apps.js'
import { type AuditAdmin, createAuditAdmin } from './audit.js'
import { type CallsAdmin, createCallsAdmin } from './calls.js'
import { type ConnectedAppsAdmin, createConnectedAppsAdmin } from './connected-apps.js'
import { createEntriesAdmin, type EntriesAdmin } from './entries.js'
import { type FindOptions, type Found, findAnything } from './find.js'
import { createKeysAdmin, type KeysAdmin } from './keys.js'
import { createMaintenanceAdmin, type MaintenanceAdmin } from './maintenance.js'
import { createModelsAdmin, type ModelsAdmin } from './models.js'
import { createReportsAdmin, type ReportsAdmin } from './reports.js'
import { createRouteFaults } from './route-faults.js'
import { createRoutesAdmin, type RoutesAdmin } from './routes.js'
import { createSessionsAdmin, type SessionsAdmin } from './sessions.js'
import { createLimitsAdmin, type LimitsAdmin } from './usage-limits.js'
import { createUserAppsAdmin, type UserAppsAdmin } from './user-apps.js'

export type { AuditNoun } from '../sql/audit.js'
export type { HistoryKind } from '../sql/connect-history.js'
export type { PostedEntry } from '../sql/credits.js'
export type { PayerQuery } from '../sql/entries.js'
export type { KeptCallsQuery } from '../sql/read-calls.js'
export type { RouteDefinition } from '../sql/route-rows.js'
export type {
  AccountRow,
  AccountsAdmin,
  AccountsQuery,
  CorrectionRequest,
  CreditRequest,
} from './accounts.js'
export type { AppFigures, AppFiguresQuery } from './app-figures.js'
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
export type { AuditAdmin, AuditQuery, AuditRow } from './audit.js'
export type { CallsAdmin, FoundCall } from './calls.js'
export type { CallStep, CallsOverTime, CallsOverTimeQuery, Quantiles } from './calls-over-time.js'
export type { PutOptions } from './compare-and-put.js'
export type {
  CapRequest,
  ConnectedAppChange,
  ConnectedAppEvent,
  ConnectedAppRow,
  ConnectedAppsAdmin,
  ConnectedAppsQuery,
  DeviceRow,
} from './connected-apps.js'
export type { CredentialRow, CredentialsQuery } from './credential-rows.js'
export type { EntriesAdmin, RefundOptions } from './entries.js'
export type { FindOptions, Found } from './find.js'
export type { OpenHold, OpenHoldsQuery } from './holds.js'
export type {
  AccessTokenRequest,
  AppTerms,
  CredentialRequest,
  IssuedCredential,
  KeyRequest,
  KeysAdmin,
  ReissueOptions,
} from './keys.js'
export type { MaintenanceAdmin } from './maintenance.js'
export type { ModelRequest, ModelsAdmin } from './models.js'
export type { ReportsAdmin } from './reports.js'
export type { RouteFault, RouteFaultsAdmin } from './route-faults.js'
export type { RouteListing, RouteRequest, RoutesAdmin, RoutesQuery } from './routes.js'
export {
  type SessionHandler,
  type SessionHandlerOptions,
  type SessionUser,
  sessionHandler,
} from './session-handler.js'
export type { SessionBudget, SessionRequest, SessionsAdmin, SessionToken } from './sessions.js'
export type { SpendBooks, SpendReport, SpendReportQuery, SpendRow } from './spend.js'
export type { SpendOverTime, SpendOverTimeQuery } from './spend-over-time.js'
export type { SpendQuery } from './spend-rows.js'
export type { AccountStatement } from './statement.js'
export { type ToJson, toJson } from './to-json.js'
export type { LimitRequest, LimitRow, LimitsAdmin, LimitsQuery, NewLimit } from './usage-limits.js'
export type { UserAppsAdmin } from './user-apps.js'
export type { Discrepancy } from './verify.js'
export type { VerifiedDays, VerifyDaysQuery } from './verify-days.js'

/**
 * Everything that a host's own admin pages need, as functions. Bad input rejects with a `TypeError` or a `RangeError`
 * that names the fault. Changes take effect in every process on the database within a second.
 */
export interface Admin {
  readonly accounts: AccountsAdmin
  /** API keys, which charge their account, and access tokens, with which an app acts for an account. */
  readonly keys: KeysAdmin
  /** Short-lived tokens for pages in a browser. */
  readonly sessions: SessionsAdmin
  /** Apps that act for accounts, as the operator sees them. */
  readonly apps: AppsAdmin
  /** Apps that users register themselves, and their reviews. */
  readonly userApps: UserAppsAdmin
  /** What users allow apps. */
  readonly connectedApps: ConnectedAppsAdmin
  readonly models: ModelsAdmin
  /** The providers that serve each model. */
  readonly routes: RoutesAdmin
  /** Budgets and rate limits. */
  readonly limits: LimitsAdmin
  /** The postings of the ledger. */
  readonly entries: EntriesAdmin
  /** How calls ended. */
  readonly calls: CallsAdmin
  readonly reports: ReportsAdmin
  /** Who changed what. */
  readonly audit: AuditAdmin
  readonly maintenance: MaintenanceAdmin
  /**
   * Finds by any id (of an account, a credential, an app, a call, a request, a hold, an entry, a payment's reference or a
   * session) and by the beginning of the name of an account, a credential or an app, ignoring case. Returns at most 20,
   * those whose id is the text first.
   */
  find(text: string, options?: FindOptions): Promise<readonly Found[]>
  /**
   * Returns the same functions for an operator or a user by name: the audit log and the histories of apps name this actor
   * for changes made through it. By default, the actor is `{ kind: 'operator', name: 'operator' }`. A function that is
   * given an account, such as `keys.revoke`, names that account. A copy of this object by `...` has no `as`: it would
   * bypass the functions that the copy replaces.
   */
  as(actor: AdminActor): Admin
}

/** Who makes a change: an operator by any name, or the account of a user. */
export interface AdminActor {
  readonly kind: 'operator' | 'account'
  readonly name: string
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

const adminSchema = optionsSchema<AdminOptions>({
  keysPerAccount: z.int().min(1).optional(),
  apps: optionsSchema<AppRules>({
    reservedNames: z.array(nameSchema).optional(),
    maxMarkup: markupSchema.optional(),
  }).optional(),
})

const actorSchema = z.strictObject({ kind: z.enum(['operator', 'account']), name: nameSchema })

const STORES = 'the stores of sqliteStores({ file }) or postgresStores(pool)'
const storesSchema = z.custom((given) => typeof Object(given).database === 'object', `must be ${STORES}`)

/** Administers the stores of one database, as created by `sqliteStores` or `postgresStores`. */
export function createAdmin(
  stores: Pick<DurableStores, 'database' | 'secrets' | 'ledger' | 'adapters'>,
  options: AdminOptions = {},
): Admin {
  readOptions(storesSchema, stores, 'createAdmin', { field: 'stores' })
  const { keysPerAccount = KEYS_PER_ACCOUNT, apps = {} } = readOptions(adminSchema, options, 'createAdmin')
  const { database, secrets, ledger, adapters } = stores
  const newHistoryId = createOrderedIdSource()
  const context = { requestId: 'admin', signal: new AbortController().signal }
  const routeFaults = createRouteFaults(database, secrets, adapters)
  const adminOf = (recorder: Recorder): Admin => {
    const as: Admin['as'] = (actor) => adminOf(recorder.as(parseInput(actorSchema, actor, 'actor')))
    const functions: Omit<Admin, 'as'> = {
      accounts: createAccountsAdmin(database, ledger, context, recorder),
      keys: createKeysAdmin(database, keysPerAccount, recorder),
      sessions: createSessionsAdmin(database),
      apps: createAppsAdmin(database, apps, newHistoryId, recorder.by),
      userApps: createUserAppsAdmin(database, apps, newHistoryId, recorder.by),
      connectedApps: createConnectedAppsAdmin(database, newHistoryId, recorder),
      models: createModelsAdmin(database, recorder),
      routes: createRoutesAdmin(database, secrets, routeFaults, recorder),
      limits: createLimitsAdmin(database, recorder),
      entries: createEntriesAdmin(database, recorder),
      calls: createCallsAdmin(database),
      reports: createReportsAdmin(database),
      audit: createAuditAdmin(database),
      maintenance: createMaintenanceAdmin(database, secrets, ledger, context),
      find: (text, options) => findAnything(database, text, options),
    }
    return Object.defineProperty(functions, 'as', { value: as }) as Admin
  }
  return adminOf(createRecorder(database, newHistoryId, OPERATOR))
}
