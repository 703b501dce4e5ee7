import type { SqlDatabase } from '../sql/database.js'
import { type AppFigures, type AppFiguresQuery, readAppFigures } from './app-figures.js'
import {
  readSpend,
  readSpendReport,
  type SpendReport,
  type SpendReportQuery,
  type SpendRow,
} from './spend.js'
import { readSpendOverTime, type SpendOverTime, type SpendOverTimeQuery } from './spend-over-time.js'
import type { SpendQuery } from './spend-rows.js'

export interface ReportsAdmin {
  /** Sums up charges and their refunds by model, key, account or another part. */
  spend(query: SpendQuery): Promise<readonly SpendRow[]>
  /** {@link spend} in pages, with a grand total, compared with the postings of the same charges. */
  spendReport(query: SpendReportQuery): Promise<SpendReport>
  /** Sums up charges by steps of time, each step in parts by model, key, account or another key. */
  spendOverTime(query: SpendOverTimeQuery): Promise<SpendOverTime>
  /** Returns the figures of an app for its owner, or undefined if the app does not exist. */
  appFigures(query: AppFiguresQuery): Promise<AppFigures | undefined>
}

export function createReportsAdmin(database: SqlDatabase): ReportsAdmin {
  return {
    spend: (query) => readSpend(database, query),
    spendReport: (query) => readSpendReport(database, query),
    spendOverTime: (query) => readSpendOverTime(database, query),
    appFigures: (query) => readAppFigures(database, query),
  }
}
