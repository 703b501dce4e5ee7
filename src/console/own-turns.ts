import { isSearch } from '../admin/entries.js'
import type { Admin } from '../admin/index.js'
import type { Clock } from '../base/clock.js'
import { HttpError } from './serving/http-error.js'

/** The maximum number of one user's queries that may wait. */
const MAX_WAITING = 100
/** The maximum number of tokens that one user may make within an hour. Those that were revoked stay in the database. */
const MAX_MADE = 200
const HOUR_MS = 3_600_000

/** Runs one task after the other. */
interface Line {
  run<Result>(task: () => Promise<Result>): Promise<Result>
  readonly waiting: number
}

/** Keeps users from slowing down each other, or an operator. */
export interface OwnTurns {
  /**
   * Returns the admin functions for a user's account. The account's lists and ledger queries run one at a time.
   * Reports, which may take long, run one at a time for all users together, with users taking turns.
   * The account may make a limited number of keys and tokens within an hour.
   */
  adminOf(account: string, admin: Admin): Admin
}

export function createOwnTurns(clock: Clock): OwnTurns {
  const allReports = createLine()
  const lines = new Map<string, Line>()

  async function inTurn<Result>(account: string, task: () => Promise<Result>): Promise<Result> {
    const line = lines.get(account) ?? createLine()
    lines.set(account, line)
    if (line.waiting >= MAX_WAITING) {
      throw new HttpError(429, 'Too many queries of this account are waiting', undefined, {
        'retry-after': '1',
      })
    }
    try {
      return await line.run(task)
    } finally {
      if (line.waiting === 0) lines.delete(account)
    }
  }

  let hour = 0
  const made = new Map<string, number>()

  function countToken(account: string): void {
    const now = clock.now()
    if (now >= hour + HOUR_MS) {
      hour = now - (now % HOUR_MS)
      made.clear()
    }
    const count = made.get(account) ?? 0
    if (count >= MAX_MADE) {
      const wait = String(Math.ceil((hour + HOUR_MS - now) / 1_000))
      throw new HttpError(
        429,
        `This account has made ${MAX_MADE} keys and tokens within an hour, the most that are allowed`,
        undefined,
        { 'retry-after': wait },
      )
    }
    made.set(account, count + 1)
  }

  return {
    adminOf(account, admin) {
      const report = <Result>(task: () => Promise<Result>) => inTurn(account, () => allReports.run(task))
      const list =
        <Query, Result>(ask: (query?: Query) => Promise<Result>) =>
        (query?: Query) =>
          inTurn(account, () => ask(query))
      const {
        accounts,
        keys,
        apps,
        userApps,
        connectedApps,
        models,
        routes,
        limits,
        entries,
        calls,
        reports,
        audit,
      } = admin
      return {
        ...admin,
        accounts: {
          ...accounts,
          list: list(accounts.list),
          statement: (asked) => report(() => accounts.statement(asked)),
        },
        keys: {
          ...keys,
          list: list(keys.list),
          async issue(request) {
            countToken(account)
            return keys.issue(request)
          },
          async issueToken(request) {
            countToken(account)
            return keys.issueToken(request)
          },
          async reissue(credentialId, options) {
            countToken(account)
            return keys.reissue(credentialId, options)
          },
        },
        apps: {
          ...apps,
          list: list(apps.list),
          listEdits: (query) => inTurn(account, () => apps.listEdits(query)),
        },
        userApps: { ...userApps, listReviews: list(userApps.listReviews) },
        connectedApps: {
          ...connectedApps,
          list: list(connectedApps.list),
          listHistory: (connectedAppId, query) =>
            inTurn(account, () => connectedApps.listHistory(connectedAppId, query)),
        },
        models: { ...models, list: list(models.list) },
        routes: { ...routes, list: list(routes.list) },
        limits: { ...limits, list: list(limits.list) },
        entries: {
          ...entries,
          list: (query = {}) =>
            isSearch(query) ? report(() => entries.list(query)) : inTurn(account, () => entries.list(query)),
        },
        calls: {
          ...calls,
          list: list(calls.list),
          overTime: (query) => report(() => calls.overTime(query)),
        },
        reports: {
          spend: (query) => report(() => reports.spend(query)),
          spendReport: (query) => report(() => reports.spendReport(query)),
          spendOverTime: (query) => report(() => reports.spendOverTime(query)),
          appFigures: (query) => report(() => reports.appFigures(query)),
        },
        audit: { list: list(audit.list) },
        find: (text, options) => inTurn(account, () => admin.find(text, { ...options, account })),
      }
    },
  }
}

function createLine(): Line {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  return {
    get waiting() {
      return waiting
    },
    async run(task) {
      waiting++
      const answer = last.then(task)
      last = answer.catch(() => undefined)
      try {
        return await answer
      } finally {
        waiting--
      }
    },
  }
}
