import { z } from 'zod'
import type { AccountRow, Admin, LimitRow, SpendReportQuery } from '../../admin/index.js'
import { DAY_MS } from '../../rules/day-sums.js'
import { nameSchema } from '../../rules/schemas.js'
import { type Context, emptySchema, get, requireAccount } from '../serving/endpoint.js'
import { limitsOf } from '../serving/limits.js'
import { accountOf } from '../serving/viewer.js'
import { accountView } from '../serving/views.js'
import { listCalls } from './calls.js'
import { listRoutes } from './catalogue.js'
import { listEntries } from './entries.js'
import { isOfPlayground, withoutMetadata } from './keys.js'
import { named, namerOf } from './reports.js'

const ROWS_SHOWN = 5
const DAYS_SHOWN = 30
/** Figures by account and key are of the newest charges, since the kept totals lack those of today. */
const NEWEST_CHARGES = 2_000
const NEWEST_CALLS = 200
const NEWEST_PROBLEMS = 1_000
/** The owners whose balances and budgets are read. */
const MOST_OWNERS = 200

/** Every query here reads kept totals or a bounded number of rows, however full the ledger is. */
export const homeEndpoints = [
  get('home', 'operator', 'month', emptySchema, async (_, context) => {
    const { admin, clock } = context
    const now = clock.now()
    const { day, month } = periodsAt(now)
    const [today, thisMonth, days, topApps, failures, payments, firstToken, routes, users] =
      await Promise.all([
        readPeriod(day, admin),
        readPeriod(month, admin),
        admin.reports.spend({ by: 'day', from: day.from - (DAYS_SHOWN - 1) * DAY_MS }),
        readTop({ by: 'app', from: month.from }, admin),
        readFailures(day, admin),
        listEntries({ payments: 'true' }, { limit: ROWS_SHOWN }, context, false),
        readFirstToken(admin),
        readRoutes(context),
        readUsers(day.before.from, admin),
      ])
    const { rows: topModels, ...comparison } = thisMonth
    const hasCalls = comparison.total.calls + comparison.before.total.calls + firstToken.calls > 0
    return {
      at: now,
      today: { from: today.from, total: today.total, before: today.before },
      month: comparison,
      /** Whether the charges of all four times equal their postings in the ledger. */
      isEqual: today.isEqual && thisMonth.isEqual,
      /** The last thirty days, without those on which nothing was charged. */
      days,
      topModels,
      topApps,
      failures,
      payments: payments.entries,
      firstToken,
      routes,
      ...users,
      /** What there is already. Absent once a call has ended. */
      firstSteps: hasCalls ? undefined : await readFirstSteps(payments.entries.length > 0, admin),
    }
  }),

  get(
    'home/account',
    'both',
    'month',
    z.strictObject({ account: nameSchema.optional() }),
    async (query, context) => {
      const { admin, clock, topUpUrl, viewer } = context
      const account = requireAccount(accountOf(viewer, query.account))
      const now = clock.now()
      const [row, month, keys, { calls }] = await Promise.all([
        admin.accounts.find(account),
        readPeriod(periodsAt(now).month, admin, { account, by: 'key', limit: MOST_OWNERS }),
        admin.keys.list({ account, inUse: true, limit: MOST_OWNERS }),
        listCalls({ account }, { limit: ROWS_SHOWN }, context, true),
      ])
      const ownKeys = keys.filter((key) => !isOfPlayground(key))
      const limits = [
        ...(await limitsOf(admin, 'account', [account])),
        ...(await limitsOf(
          admin,
          'credential',
          ownKeys.map(({ credentialId }) => credentialId),
        )),
      ]
      const { rows, ...comparison } = month
      const costs = new Map(rows.map(({ key, cost }) => [key, cost]))
      return {
        at: now,
        account,
        /** Absent before the first credit opens the account. */
        balance: row && accountView(row),
        topUpUrl,
        month: comparison,
        budgets: limits.filter(isBudget).sort(byShareLeft).slice(0, ROWS_SHOWN),
        /** The newest calls. */
        calls: calls.slice(0, ROWS_SHOWN),
        /** The newest keys in use, each with the cost of its calls of this month. */
        keys: ownKeys.slice(0, ROWS_SHOWN).map((key) => ({
          ...withoutMetadata(key),
          cost: costs.get(key.credentialId) ?? 0n,
        })),
        keyCount: ownKeys.length,
      }
    },
  ),
]

/** A time from `from` on, and the same part of the day or month before it. */
interface Period {
  readonly from: number
  readonly before: { readonly from: number; readonly to: number }
}

/** Returns the day and the month in UTC. A month before that is shorter is compared as a whole. */
export function periodsAt(now: number): { readonly day: Period; readonly month: Period } {
  const date = new Date(now)
  const [year, monthOfYear, dayOfMonth] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  const day = Date.UTC(year, monthOfYear, dayOfMonth)
  const month = Date.UTC(year, monthOfYear)
  const monthBefore = Date.UTC(year, monthOfYear - 1)
  // `to` is exclusive, and `now` counts.
  const end = now + 1
  return {
    day: { from: day, before: { from: day - DAY_MS, to: end - DAY_MS } },
    month: {
      from: month,
      before: { from: monthBefore, to: Math.min(monthBefore + end - month, month) },
    },
  }
}

/** Compares the charges of a period with those before it. The rows are of the period. */
async function readPeriod(
  { from, before }: Period,
  { reports }: Admin,
  query: Partial<SpendReportQuery> = {},
) {
  const read = (times: Partial<SpendReportQuery>) =>
    reports.spendReport({ by: 'model', limit: ROWS_SHOWN, ...query, ...times })
  const [now, then] = await Promise.all([read({ from }), read(before)])
  return {
    from,
    total: now.total,
    before: { ...before, total: then.total },
    isEqual: now.books.isEqual && then.books.isEqual,
    rows: now.rows,
    behindMs: now.behindMs,
  }
}

/** Returns the rows that cost most, with their names. Calls without an app are left out. */
async function readTop(query: SpendReportQuery, admin: Admin) {
  const { rows } = await admin.reports.spendReport({ ...query, limit: ROWS_SHOWN + 1 })
  const shown = rows.filter(({ key }) => key !== undefined).slice(0, ROWS_SHOWN)
  return named(shown, namerOf(query.by, admin))
}

/** The calls that failed, were refused, or were left by their clients, by their outcome. */
async function readFailures({ from, before }: Period, admin: Admin) {
  const [now, then] = await Promise.all([countProblems({ from }, admin), countProblems(before, admin)])
  return { ...now, before: { count: then.count, isCut: then.isCut } }
}

async function countProblems(times: { readonly from: number; readonly to?: number }, { calls }: Admin) {
  const { calls: problems, next } = await calls.list({ ...times, problems: true, limit: NEWEST_PROBLEMS })
  const counts = new Map<string, number>()
  for (const { outcome } of problems) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return {
    count: problems.length,
    /** Whether there are more than were counted. `since` is the time of the oldest that was. */
    isCut: next !== undefined,
    since: problems.at(-1)?.at,
    causes: [...counts]
      .map(([outcome, count]) => ({ outcome, count }))
      .sort((one, other) => other.count - one.count),
  }
}

/** How long the newest calls waited for their first token. */
async function readFirstToken({ calls }: Admin) {
  const { calls: newest } = await calls.list({ limit: NEWEST_CALLS })
  const waits = newest.flatMap(({ firstTokenMs }) => firstTokenMs ?? []).sort((one, other) => one - other)
  const quantile = (part: number) => waits[Math.ceil(waits.length * part) - 1]
  return {
    /** The calls that were read, and how many of them have a first token. */
    calls: newest.length,
    measured: waits.length,
    since: newest.at(-1)?.at,
    medianMs: quantile(0.5),
    slowMs: quantile(0.95),
  }
}

/** The routes that calls may use: those of the database that are on, and those that the host defines itself. */
async function readRoutes(context: Context) {
  const listed = await listRoutes(context)
  const known = new Set(listed.map(({ id }) => id))
  const routes = [
    ...listed
      .filter(({ enabled }) => enabled !== false)
      .map(({ id, model, health, cannotBeUsed }) => ({ id, model, health, cannotBeUsed })),
    ...context.routers
      .routes()
      .filter(({ routeId }) => !known.has(routeId))
      .map((health) => ({ id: health.routeId, model: undefined, health, cannotBeUsed: undefined })),
  ]
  const isFailing = ({ health, cannotBeUsed }: (typeof routes)[number]) =>
    cannotBeUsed !== undefined || (health !== undefined && health.state !== 'closed')
  const failing = routes.filter(isFailing)
  const errorAt = ({ health }: (typeof routes)[number]) => health?.lastError?.at ?? 0
  const others = routes
    .filter((route) => !isFailing(route))
    .sort((one, other) => errorAt(other) - errorAt(one))
  return {
    count: routes.length,
    failing: failing.length,
    /** Those that fail, then those with the newest errors. */
    shown: [...failing, ...others].slice(0, ROWS_SHOWN),
  }
}

/** Those who paid since a time, and which of them will soon be refused. */
async function readUsers(from: number, admin: Admin) {
  const read = (by: 'account' | 'key') =>
    admin.reports.spendReport({ by, from, newest: NEWEST_CHARGES, limit: MOST_OWNERS })
  const [byAccount, byKey, byApp] = await Promise.all([
    read('account'),
    read('key'),
    admin.reports.spendReport({ by: 'app', from, limit: MOST_OWNERS }),
  ])
  const idsOf = ({ rows }: typeof byAccount) => rows.flatMap(({ key }) => key ?? [])
  const accountIds = idsOf(byAccount)
  const [accounts, topKeys, ...limits] = await Promise.all([
    admin.accounts.list({ accountIds, limit: MOST_OWNERS }),
    named(byKey.rows.slice(0, ROWS_SHOWN), namerOf('key', admin)),
    limitsOf(admin, 'account', accountIds),
    limitsOf(admin, 'credential', idsOf(byKey)),
    limitsOf(admin, 'app', idsOf(byApp)),
  ])
  const spent = new Map(byAccount.rows.map(({ key, cost }) => [key, cost]))
  const nearZero = accounts
    .filter(({ id, suspendedAt, balance }) => suspendedAt === undefined && balance.available < spent.get(id)!)
    .sort(byAvailable)
  const nearEnd = limits.flat().filter(isNearEnd).sort(byShareLeft)
  return {
    users: {
      from,
      /** The calls that were counted, and the time of the oldest of them if there may be more. */
      calls: byAccount.total.calls,
      since: byAccount.total.calls < NEWEST_CHARGES ? undefined : byAccount.since,
    },
    topAccounts: byAccount.rows.slice(0, ROWS_SHOWN),
    topKeys,
    /** Accounts that have less left than they spent in this time. */
    nearZero: nearZero
      .slice(0, ROWS_SHOWN)
      .map((row) => ({ ...accountView(row), spent: spent.get(row.id)! })),
    nearZeroCount: nearZero.length,
    /** Budgets of those who spent in this time, of which at most a fifth is left. */
    nearEnd: nearEnd.slice(0, ROWS_SHOWN),
    nearEndCount: nearEnd.length,
  }
}

function byAvailable({ balance: one }: AccountRow, { balance: other }: AccountRow): number {
  return one.available < other.available ? -1 : 1
}

/** A budget of 0 refuses all calls on purpose. */
function isBudget({ unit, amount }: LimitRow): boolean {
  return unit === 'credits' && amount > 0n
}

function isNearEnd(limit: LimitRow): boolean {
  return isBudget(limit) && limit.left * 5n <= limit.amount
}

function byShareLeft(one: LimitRow, other: LimitRow): number {
  return Number(one.left * other.amount - other.left * one.amount)
}

/** Whether there is anything that a first call needs. */
async function readFirstSteps(hasCredit: boolean, admin: Admin) {
  const [models, routes, keys] = await Promise.all([
    admin.models.list(),
    admin.routes.list(),
    admin.keys.list({ limit: 1 }),
  ])
  return { model: models.length > 0, route: routes.length > 0, credit: hasCredit, key: keys.length > 0 }
}
