import { type Credits, formatCredits } from '../base/money.js'
import { present } from '../base/present.js'
import { Refusal } from '../base/refusal.js'
import type { Charge, Entry, Posting } from '../contracts/index.js'
import type { Recorder } from './audit.js'
import { readJson } from './cells.js'
import type { PostedEntry } from './credits.js'
import type { SqlDatabase, Statement } from './database.js'
import { toEntryIdCell } from './entry-ids.js'
import { type RefundDetails, readEntry, toPostingsCell } from './entry-rows.js'
import { toLimitCells } from './limit-cells.js'
import { lockName } from './locks.js'
import { type RefundStep, refundPostings, refundUses } from './refund-shares.js'
import { noteUnsummed } from './unsummed.js'

export interface RefundPosting {
  /** The entry of the charge. */
  readonly entryId: string
  /** Defaults to everything that is left of the charge. */
  readonly amount: Credits | undefined
  /** Identifies this posting, so that a repeat posts nothing. */
  readonly reference: string
  readonly memo: string | undefined
}

/** A charge and its refunds so far. */
interface Refundable {
  readonly charge: Entry & { readonly charge: Charge }
  readonly refunds: number
  readonly refunded: Credits
}

/** SQL that is true for the refund's entry `e` until its payer's posting exists, which is made last. */
const IS_NEW = `e.reference = ?1 and e.refund_of = cast(?2 as bigint) and not exists (
    select 1 from {postings} p where p.account = e.account and p.at = e.at and p.entry_id = e.id
  )`

/**
 * Reverses a charge, or a part of it, in one transaction. A repeat of a reference posts nothing and returns the first
 * entry. Throws if that entry is not the same refund.
 */
export async function postRefund(
  database: SqlDatabase,
  posting: RefundPosting,
  recorder: Recorder,
): Promise<PostedEntry> {
  for (;;) {
    const first = await findPosted(database, posting.reference)
    if (first !== undefined) return asRepeat(first, posting)
    const found = await findRefundable(database, posting.entryId)
    const locks = lockName(database, `compat_router.refund:${found.charge.id}`)
    const results = await database.batch([...locks, ...refundStatements(database, found, posting, recorder)])
    const inserted = results[locks.length]!
    if (inserted.length > 0) return readEntry(results.at(-1)![0]!)
    // Since the charge was read, somebody else has refunded it, or the reference was posted.
  }
}

async function findPosted(database: SqlDatabase, reference: string): Promise<Entry | undefined> {
  const [row] = await database.all({
    text: 'select * from {entries} where reference = ?1',
    parameters: [reference],
  })
  return row && readEntry(row)
}

function asRepeat(first: Entry, { entryId, amount, reference }: RefundPosting): PostedEntry {
  const { refund } = first
  if (refund?.of !== entryId || (amount !== undefined && refund.amount !== amount)) {
    throw new Refusal(
      'conflict',
      `The reference ${JSON.stringify(reference)} names another posting: ${first.id}`,
    )
  }
  return { ...first, isRepeat: true }
}

async function findRefundable(database: SqlDatabase, entryId: string): Promise<Refundable> {
  const parameters = [toEntryIdCell(entryId)]
  const [rows, refunds] = await database.batch([
    { text: "select * from {entries} where id = ?1 and kind = 'charge'", parameters },
    { text: 'select details from {entries} where refund_of = ?1', parameters },
  ])
  const charge = rows![0] && readEntry(rows![0])
  if (charge?.charge === undefined) {
    throw new Refusal('not-found', `There is no charge ${JSON.stringify(entryId)}`)
  }
  let refunded = 0n
  for (const row of refunds!) refunded += BigInt(readJson<RefundDetails>(row, 'details').amount)
  return { charge: { ...charge, charge: charge.charge }, refunds: refunds!.length, refunded }
}

/** The first statement returns a row if it inserts the refund's entry, and the last one returns that entry. */
function refundStatements(
  database: SqlDatabase,
  { charge, refunds, refunded }: Refundable,
  { amount, memo, reference }: RefundPosting,
  recorder: Recorder,
): readonly Statement[] {
  const { account: payer } = charge.facts!
  const { cost } = charge.charge
  const step = { cost, before: refunded, after: refunded + (amount ?? cost - refunded) }
  checkLeft(charge.id, step)
  const uses = refundUses(charge.limits ?? [], step)
  const details: RefundDetails = {
    facts: factsOf(charge),
    amount: (step.after - step.before).toString(),
    ...(memo !== undefined && { memo }),
    ...(uses.length !== 0 && { limits: toLimitCells(uses) }),
  }
  const postings = payerLast(refundPostings(charge.postings, step), payer)
  const key = [reference, BigInt(charge.id)]
  return [
    {
      text: `insert into {entries}
          (at, kind, account, credential_id, model, app_id, session_id, provider, reference, refund_of, posted, postings,
            details)
        select ${database.now}, 'refund', c.account, c.credential_id, c.model, c.app_id, c.session_id, c.provider,
          ?1, c.id, cast(?3 as bigint), ?4, ?5
        from {entries} c
        where c.id = cast(?2 as bigint)
          and (select count(*) from {entries} r where r.refund_of = c.id) = cast(?6 as bigint)
        on conflict (reference) where reference is not null do nothing
        returning id`,
      parameters: [
        ...key,
        postings.at(-1)!.amount,
        toPostingsCell(postings),
        JSON.stringify(details),
        BigInt(refunds),
      ],
    },
    recorder.record(
      {
        noun: 'entry',
        kind: 'refunded',
        details: { of: charge.id, amount: formatCredits(step.after - step.before), ...present({ memo }) },
      },
      {
        text: `select cast(e.id as text) as id, e.account from {entries} e where ${IS_NEW}`,
        parameters: key,
      },
    ),
    // The ledger locks accounts and then buckets, each in order of their ids.
    ...inOrder(postings, ({ account }) => account).map(({ account, amount: change }) => ({
      text: `insert into {accounts} as a (id, posted, created_at)
        select ?3, cast(?4 as bigint), e.at from {entries} e where ${IS_NEW}
        on conflict (id) do update set posted = a.posted + excluded.posted`,
      parameters: [...key, account, change],
    })),
    ...inOrder(uses, ({ bucket }) => bucket).map(({ bucket, from, used }) => ({
      text: `update {limit_buckets} set used = used + cast(?4 as bigint)
        where id = ?3 and starts_at = cast(?5 as bigint) and exists (select 1 from {entries} e where ${IS_NEW})`,
      parameters: [...key, bucket, used, BigInt(from)],
    })),
    ...noteUnsummed(database.engine, IS_NEW, key),
    ...postings.map(({ account, amount: change }) => ({
      text: `insert into {postings} (account, at, entry_id, amount)
        select ?3, e.at, e.id, cast(?4 as bigint) from {entries} e where ${IS_NEW}`,
      parameters: [...key, account, change],
    })),
    {
      text: 'select * from {entries} where reference = ?1',
      parameters: [reference],
    },
  ]
}

function checkLeft(entryId: string, { cost, before, after }: RefundStep): void {
  if (cost === 0n) throw new Refusal('conflict', `The charge ${entryId} cost nothing`)
  if (after > before && after <= cost) return
  const left = cost - before
  throw new Refusal(
    'conflict',
    left === 0n
      ? `The charge ${entryId} of ${formatCredits(cost)} credits has been refunded already`
      : `The charge ${entryId} of ${formatCredits(cost)} credits has ${formatCredits(left)} left to refund`,
  )
}

/** Returns the facts that have no column. */
function factsOf({ facts }: Entry): RefundDetails['facts'] {
  const { account, credentialId, model, appId, sessionId, provider, ...rest } = facts!
  return rest
}

function payerLast(postings: readonly Posting[], payer: string): readonly Posting[] {
  const own = postings.find(({ account }) => account === payer) ?? { account: payer, amount: 0n }
  return [...postings.filter(({ account }) => account !== payer), own]
}

function inOrder<Item>(items: readonly Item[], idOf: (item: Item) => string): readonly Item[] {
  return [...items].sort((one, other) => Buffer.compare(Buffer.from(idOf(one)), Buffer.from(idOf(other))))
}
