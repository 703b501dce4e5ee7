import type { Posting } from '../contracts/index.js'
import type { Connection, Prepared } from './connection.js'

export interface PostingRow extends Posting {
  readonly entryId: bigint
}

/** Numbers of rows in one statement, largest first. An entry usually has three postings. */
const STATEMENT_ROWS = [256, 64, 16, 3, 1] as const

/** Writes the postings of a batch, many rows in one statement, in the table's order. */
export function createPostingRows(connection: Connection): {
  insert(rows: PostingRow[], at: bigint): void
} {
  const statements = STATEMENT_ROWS.map((count): { count: number; statement: Prepared } => {
    const values = new Array(count).fill('(?, ?, ?, ?)').join(', ')
    return {
      count,
      statement: connection.prepare(
        `insert into {postings} (account, at, entry_id, amount) values ${values}`,
      ),
    }
  })

  return {
    insert(rows, at) {
      rows.sort((first, second) =>
        first.account < second.account ? -1 : Number(first.account > second.account),
      )
      let next = 0
      for (const { count, statement } of statements) {
        for (; rows.length - next >= count; next += count) {
          const cells: unknown[] = []
          for (let index = next; index < next + count; index++) {
            const { account, entryId, amount } = rows[index]!
            cells.push(account, at, entryId, amount)
          }
          statement.run(cells)
        }
      }
    },
  }
}
