import { isSearch } from '../admin/entries.js'
import type { Admin } from '../admin/index.js'
import { HttpError } from './serving/http-error.js'

/** What of one user's questions may wait. */
const MAX_WAITING = 100

/** Runs one work after the other. */
interface Line {
  run<Result>(work: () => Promise<Result>): Promise<Result>
  readonly waiting: number
}

/** How users are kept from each other's way, and from an operator's. */
export interface OwnTurns {
  /**
   * Administration for a user's account: its questions about the ledger wait for each other. Of all users' reports, which
   * may take long, one runs at a time, each user's in turn.
   */
  adminOf(account: string, admin: Admin): Admin
}

export function createOwnTurns(): OwnTurns {
  const reports = createLine()
  const lines = new Map<string, Line>()

  async function inTurn<Result>(account: string, work: () => Promise<Result>): Promise<Result> {
    const line = lines.get(account) ?? createLine()
    lines.set(account, line)
    if (line.waiting >= MAX_WAITING) {
      throw new HttpError(429, 'Too many questions of this account wait for an answer', undefined, {
        'retry-after': '1',
      })
    }
    try {
      return await line.run(work)
    } finally {
      if (line.waiting === 0) lines.delete(account)
    }
  }

  return {
    adminOf(account, admin) {
      const report = <Result>(work: () => Promise<Result>) => inTurn(account, () => reports.run(work))
      const own: Pick<Admin, 'entries' | 'spend' | 'spendReport' | 'statement'> = {
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
    async run(work) {
      waiting++
      const answer = last.then(work)
      last = answer.catch(() => undefined)
      try {
        return await answer
      } finally {
        waiting--
      }
    },
  }
}
