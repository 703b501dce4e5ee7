import { isSearch } from '../admin/entries.js'
import type { Admin } from '../admin/index.js'
import { HttpError } from './serving/http-error.js'

/** The maximum number of one user's queries that may wait. */
const MAX_WAITING = 100

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
   */
  adminOf(account: string, admin: Admin): Admin
}

export function createOwnTurns(): OwnTurns {
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
      } = admin
      return {
        ...admin,
        accounts: {
          ...accounts,
          list: list(accounts.list),
          statement: (asked) => report(() => accounts.statement(asked)),
        },
        keys: { ...keys, list: list(keys.list) },
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
        calls: { ...calls, list: list(calls.list) },
        reports: {
          spend: (query) => report(() => reports.spend(query)),
          spendReport: (query) => report(() => reports.spendReport(query)),
          appFigures: (query) => report(() => reports.appFigures(query)),
        },
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
