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

/** The queries of a user that read many rows. */
type OwnTurn =
  | Extract<keyof Admin, `list${string}`>
  | 'appFigures'
  | 'entries'
  | 'spend'
  | 'spendReport'
  | 'statement'

/** Keeps users from slowing down each other, or an operator. */
export interface OwnTurns {
  /**
   * Returns the admin functions for a user's account. The account's lists and ledger queries run one at a time.
   * Reports, which may take long, run one at a time for all users together, with users taking turns.
   */
  adminOf(account: string, admin: Admin): Admin
}

export function createOwnTurns(): OwnTurns {
  const reports = createLine()
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
      const report = <Result>(task: () => Promise<Result>) => inTurn(account, () => reports.run(task))
      const list =
        <Query, Result>(ask: (query?: Query) => Promise<Result>) =>
        (query?: Query) =>
          inTurn(account, () => ask(query))
      const own: Pick<Admin, OwnTurn> = {
        listAccounts: list(admin.listAccounts),
        listAppEdits: (query) => inTurn(account, () => admin.listAppEdits(query)),
        listApps: list(admin.listApps),
        listAppReviews: list(admin.listAppReviews),
        listCalls: list(admin.listCalls),
        listCredentials: list(admin.listCredentials),
        listGrantHistory: (grantId, query) => inTurn(account, () => admin.listGrantHistory(grantId, query)),
        listGrants: list(admin.listGrants),
        listLimits: list(admin.listLimits),
        listModels: list(admin.listModels),
        listRoutes: list(admin.listRoutes),
        appFigures: (query) => report(() => admin.appFigures(query)),
        entries: (query = {}) =>
          isSearch(query) ? report(() => admin.entries(query)) : inTurn(account, () => admin.entries(query)),
        spend: (query) => report(() => admin.spend(query)),
        spendReport: (query) => report(() => admin.spendReport(query)),
        statement: (asked) => report(() => admin.statement(asked)),
      }
      return Object.assign(Object.create(admin) as Admin, own)
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
