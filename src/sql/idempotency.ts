import { randomUUID } from 'node:crypto'
import type { Charge, IdempotencyState, IdempotencyStore, StoredReply } from '../contracts/index.js'
import { bodyBytesOf } from '../rules/body-bytes.js'
import { readNumber, readOptionalText, readText } from './cells.js'
import type { SqlDatabase } from './database.js'
import { createLeaseReturns, returnLease } from './lease-returns.js'
import type { Processes } from './processes.js'
import { checkText } from './text.js'

/** If a body is larger, only its charge is kept. */
const REPLY_MAX_BYTES = 4 * 1_024 * 1_024
/** The limit for all stored bodies of one account. */
const ACCOUNT_MAX_BYTES = 256 * 1_024 * 1_024
/** How many expired replies are deleted with each new one. */
const TIDIED_ROWS = 4

/**
 * Replies to calls with an `Idempotency-Key`, shared by all processes on the database. Times are read from its clock. A
 * call whose reply has been deleted is still not charged twice, because the ledger keeps the claim.
 */
export function createSqlIdempotency(
  database: SqlDatabase,
  processes: Pick<Processes, 'forLease'>,
): IdempotencyStore & { close(): void } {
  const { now } = database
  /** The leases of calls that run here, by their claims. */
  const leases = new Map<string, { readonly lease: string; readonly leaseMs: number }>()
  const returns = createLeaseReturns(database)

  /** Passes on the answer. Without one, the lease may have been taken or not: it is given back. */
  async function orGiveBack<Answer>(
    claim: string,
    { lease, leaseMs }: { readonly lease: string; readonly leaseMs: number },
    answer: Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await answer
    } catch (error) {
      returns.add(claim, lease, leaseMs)
      throw error
    }
  }

  return {
    async claim({ claim, account, digest, leaseMs }): Promise<IdempotencyState> {
      checkText(claim, 'claim')
      const process = (await processes.forLease(leaseMs)) ?? null
      const own = { lease: randomUUID(), leaseMs }
      const answer = database.batch([
        {
          text: `insert into {replies} as r (claim, account, digest, done, expires_at, size_bytes, process, lease)
            values (?1, ?2, ?3, 0, ${now} + cast(?4 as bigint), 0, ?5, ?6)
            on conflict (claim) do update set account = excluded.account, digest = excluded.digest, done = 0,
              expires_at = excluded.expires_at, size_bytes = 0, reply = null, process = excluded.process,
              lease = excluded.lease
            where r.expires_at <= ${now}
            returning claim`,
          parameters: [claim, account, digest, BigInt(Math.ceil(leaseMs)), process, own.lease],
        },
        { text: 'select digest, done, reply from {replies} where claim = ?1', parameters: [claim] },
      ])
      const [taken = [], found = []] = await orGiveBack(claim, own, answer)
      if (taken.length > 0) {
        leases.set(claim, own)
        return { state: 'mine' }
      }
      const row = found[0]!
      if (readText(row, 'digest') !== digest) return { state: 'mismatch' }
      const reply = readOptionalText(row, 'reply')
      return readNumber(row, 'done') === 0 || reply === undefined
        ? { state: 'in-flight' }
        : { state: 'done', reply: parseReply(reply) }
    },

    async complete(claim, reply, ttlMs) {
      const bodyBytes = bodyBytesOf(reply)
      const { bytes: _, ...withoutBody } = reply
      const whole = bodyBytes <= REPLY_MAX_BYTES ? reply : withoutBody
      const fits = `coalesce((select t.size_bytes from {reply_totals} t where t.account = r.account), 0)
        - r.size_bytes + cast(?2 as bigint) <= ${ACCOUNT_MAX_BYTES}`
      const size = whole === reply ? bodyBytes : 0
      await database.batch([
        {
          text: `update {replies} as r set done = 1, expires_at = ${now} + cast(?3 as bigint),
              size_bytes = case when ${fits} then cast(?2 as bigint) else 0 end,
              reply = case when ${fits} then cast(?4 as text) else cast(?5 as text) end
            where claim = ?1`,
          parameters: [
            checkText(claim, 'claim'),
            BigInt(size),
            BigInt(Math.ceil(ttlMs)),
            formatReply(whole),
            formatReply(withoutBody),
          ],
        },
      ])
      leases.delete(claim)
      // A separate transaction can be retried if another one locks the totals of the same accounts in another order.
      await database.batch([
        {
          text: `delete from {replies} where claim in (
            select claim from {replies} where expires_at <= ${now} order by expires_at limit ${TIDIED_ROWS}
          )`,
        },
      ])
    },

    async abandon(claim) {
      const own = leases.get(checkText(claim, 'claim'))
      // If this process was silent for too long, another one may have the key now, under a lease of its own.
      if (own === undefined) return
      leases.delete(claim)
      await orGiveBack(claim, own, database.batch([returnLease(claim, own.lease)]))
    },

    close: returns.close,
  }
}

type Amounts = Pick<Charge, 'cost' | 'base' | 'markup' | 'shortfall'>

/** A reply as it is written: each amount is a decimal string. */
interface WrittenReply extends Omit<StoredReply, 'charge'> {
  readonly charge: Omit<Charge, keyof Amounts> & { readonly [Name in keyof Amounts]: string }
}

/** JSON escapes the characters that a database cannot store as text. Amounts become strings. */
function formatReply(reply: StoredReply): string {
  return JSON.stringify(reply, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

function parseReply(text: string): StoredReply {
  const { charge, ...reply } = JSON.parse(text) as WrittenReply
  const { cost, base, markup, shortfall, ...facts } = charge
  const amounts = { cost: BigInt(cost), base: BigInt(base), markup: BigInt(markup) }
  return {
    ...reply,
    charge: { ...facts, ...amounts, ...(shortfall !== undefined && { shortfall: BigInt(shortfall) }) },
  }
}
