import { formatCredits } from '../base/money.js'
import { Refusal } from '../base/refusal.js'
import type { Entry } from '../contracts/index.js'
import type { Recorder } from './audit.js'
import { postedOf } from './balances.js'
import { checkAmount } from './bounds.js'
import type { SqlDatabase } from './database.js'
import { readEntry, toPostingsCell } from './entry-rows.js'
import { checkOptionalText, checkText } from './text.js'
import { noteUnsummed } from './unsummed.js'

export interface PostRequest {
  readonly kind: 'credit' | 'correction'
  readonly account: string
  /** A negative amount reduces the balance. */
  readonly amount: bigint
  /** Identifies this posting, so that a repeat posts nothing. */
  readonly reference: string
  readonly memo?: string
}

/** The entry of a posting, whether it was posted now or before. */
export interface PostedEntry extends Entry {
  /** Set if the reference had been posted before, and nothing was posted now. */
  readonly isRepeat?: true
}

/**
 * Adds credits to an account, or takes them away, in one transaction. Creates the account if it does not exist. A repeat
 * of a reference posts nothing and returns the first entry. It throws if its kind, account or amount is different.
 */
export async function post(
  database: SqlDatabase,
  request: PostRequest,
  recorder: Recorder,
): Promise<PostedEntry> {
  const account = checkText(request.account, 'account')
  const amount = checkAmount(request.amount, 'amount')
  const reference = checkText(request.reference, 'reference')
  const memo = checkOptionalText(request.memo, 'memo')
  const isFirst = `not exists (
    select 1 from {postings} p where p.account = e.account and p.at = e.at and p.entry_id = e.id
  )`
  const rows = await database.batch([
    {
      text: `insert into {entries} (at, kind, account, reference, posted, postings, details)
        values (${database.now}, ?1, ?2, ?3, cast(?4 as bigint), ?5, ?6)
        on conflict (reference) where reference is not null do nothing
        returning id`,
      parameters: [
        request.kind,
        account,
        reference,
        amount,
        toPostingsCell([{ account, amount }]),
        memo === null ? null : JSON.stringify({ memo }),
      ],
    },
    recorder.record(
      {
        noun: 'entry',
        kind: request.kind === 'credit' ? 'credited' : 'corrected',
        details: { amount: formatCredits(amount), ...(memo !== null && { memo }) },
      },
      {
        text: `select cast(e.id as text) as id, e.account from {entries} e where e.reference = ?1 and ${isFirst}`,
        parameters: [reference],
      },
    ),
    {
      text: `insert into {accounts} as a (id, posted, created_at)
        select e.account, cast(?1 as bigint), e.at from {entries} e where e.reference = ?2 and ${isFirst}
        on conflict (id) do update set posted = a.posted + excluded.posted`,
      parameters: [amount, reference],
    },
    ...noteUnsummed(database.engine, `e.reference = ?1 and ${isFirst}`, [reference]),
    {
      text: `insert into {postings} (account, at, entry_id, amount)
        select e.account, e.at, e.id, cast(?1 as bigint) from {entries} e where e.reference = ?2 and ${isFirst}`,
      parameters: [amount, reference],
    },
    { text: 'select * from {entries} where reference = ?1', parameters: [reference] },
    // Fails if the balance exceeds 64 bits, which earnings in slots may cause although the row fits.
    {
      text: `select cast(${postedOf(database)} as bigint) as posted from {accounts} a where a.id = ?1`,
      parameters: [account],
    },
  ])
  const entry = readEntry(rows.at(-2)![0]!)
  const [posting] = entry.postings
  if (entry.kind !== request.kind || posting?.account !== account || posting.amount !== amount) {
    throw new Refusal(
      'conflict',
      `The reference ${JSON.stringify(reference)} names another posting: ${entry.id}`,
    )
  }
  return rows[0]!.length > 0 ? entry : { ...entry, isRepeat: true }
}
