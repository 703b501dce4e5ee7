import { z } from 'zod'
import type { InputPlace } from '../base/invalid-input.js'
import { parseCredits } from '../base/money.js'
import { PeriodCalendar } from '../base/periods.js'
import { Refusal } from '../base/refusal.js'
import type { Limit, LimitOwner } from '../contracts/index.js'
import { bucketOf } from '../rules/bucket-of.js'
import {
  idSchema,
  idsSchema,
  ownedLimitSchema,
  parseField,
  parseInput,
  rowsSchema,
  whose,
} from '../rules/schemas.js'
import type { Recorder } from '../sql/audit.js'
import { readBigint, readNumber, readText } from '../sql/cells.js'
import { createConditions } from '../sql/conditions.js'
import type { Row, SqlDatabase, Statement } from '../sql/database.js'
import { readLimits, toLimitCell } from '../sql/limit-rows.js'
import { checkHoldable } from './amounts.js'

/** A budget or rate limit of a credential, an account or an app. */
export interface LimitRequest extends Omit<Limit, 'amount' | 'of' | 'ownerId'> {
  /** A decimal string: credits such as `'20.00'`, or a whole number of requests or tokens such as `'60'`. */
  readonly amount: string
  readonly of: LimitOwner
  /** The id of the credential, the account or the app. A connected app is a credential too. */
  readonly ownerId: string
}

/** A limit of a credential that is made with it. */
export interface NewLimit extends Omit<Limit, 'amount' | 'of' | 'ownerId' | 'id' | 'zone'> {
  /** A decimal string: credits such as `'20.00'`, or a whole number of requests or tokens such as `'60'`. */
  readonly amount: string
  readonly zone?: string | undefined
}

/** A limit and the bucket of its current period. */
export interface LimitRow extends Limit {
  readonly of: LimitOwner
  readonly ownerId: string
  readonly used: bigint
  /** Credits or tokens of calls in flight. */
  readonly held: bigint
  /** At least 0, even if more than the limit was used. */
  readonly left: bigint
  /** The end of the current period, in milliseconds since the Unix epoch. Absent for limits in total. */
  readonly endsAt?: number
}

export interface LimitsQuery {
  readonly of?: LimitOwner
  readonly ownerId?: string
  readonly ownerIds?: readonly string[]
  readonly after?: string
  /** 100 by default, at most 1,000. */
  readonly limit?: number
}

export interface LimitsAdmin {
  /**
   * Adds a limit, or replaces the one with this id, in every process within a second. A new amount applies from the
   * next call on, and does not affect calls in flight or the use so far. Each owner, unit, period and zone has a count
   * of its own, which starts at 0. Rejects if the owner does not exist, or if the id belongs to another owner's limit.
   */
  put(limit: LimitRequest): Promise<void>
  /**
   * Removes a limit. Returns whether it existed. If it is added again with the same id, owner, unit, period and zone, it
   * continues to count in its period.
   */
  remove(id: string): Promise<boolean>
  /** Lists limits by id. For the next page, pass the last id as `after`. */
  list(query?: LimitsQuery): Promise<readonly LimitRow[]>
}

const DEFAULT_ROWS = 100
const MAX_ROWS = 1_000

const querySchema = z.strictObject({
  of: whose(z.enum(['credential', 'account', 'app'])),
  ownerId: whose(idSchema),
  ownerIds: whose(idsSchema),
  after: idSchema.optional(),
  limit: rowsSchema.max(MAX_ROWS).optional(),
})

const OWNER_TABLES: Readonly<Record<LimitOwner, string>> = {
  credential: '{credentials}',
  account: '{accounts}',
  app: '{apps}',
}

export function createLimitsAdmin(database: SqlDatabase, recorder: Recorder): LimitsAdmin {
  const calendar = new PeriodCalendar()

  async function bucketsOf(limits: readonly Limit[]): Promise<ReadonlyMap<string, Row>> {
    const { parameters, addOneOf, where } = createConditions()
    addOneOf('id', limits.map(bucketOf))
    const rows = await database.all({ text: `select * from {limit_buckets} ${where()}`, parameters })
    return new Map(rows.map((row) => [readText(row, 'id'), row]))
  }

  function toLimitRow(row: Row, limit: Limit, bucket: Row | undefined): LimitRow {
    const [from, to] = presentPeriod(calendar, limit, readNumber(row, 'now'))
    const startsAt = bucket === undefined ? undefined : readNumber(bucket, 'starts_at')
    const isPresent = bucket !== undefined && startsAt !== undefined && startsAt >= from
    const used = isPresent ? readBigint(bucket, 'used') : 0n
    const held = isPresent ? readBigint(bucket, 'held') : 0n
    const left = limit.amount - used - held
    return {
      ...limit,
      of: readText(row, 'owner_kind') as LimitOwner,
      ownerId: readText(row, 'owner_id'),
      used,
      held,
      left: left > 0n ? left : 0n,
      ...(limit.per !== 'total' && { endsAt: isPresent ? readNumber(bucket, 'ends_at') : to }),
    }
  }

  return {
    async put(request) {
      const { ownerId, of, ...read } = parseInput(ownedLimitSchema, request, 'limit')
      const limit: Limit = { ...toLimit(read, { of: 'limit', field: 'amount' }), of, ownerId, id: read.id }
      const table = OWNER_TABLES[of]
      const parameters = [limit.id, of, ownerId, toLimitCell(limit)]
      const [owners, , put] = await database.batch([
        { text: `select id from ${table} where id = ?1`, parameters: [ownerId] },
        recorder.record(
          { noun: 'limit', kind: 'put', details: request },
          {
            text: `select ?1 as id, ${accountOf(of)} as account from ${table} o where o.id = ?3 and not exists (
                select 1 from {limits} l where l.id = ?1
                  and (l.owner_kind <> ?2 or l.owner_id <> ?3 or l.definition = ?4)
              )`,
            parameters,
          },
        ),
        {
          text: `insert into {limits} as l (id, owner_kind, owner_id, definition, created_at)
            select ?1, ?2, ?3, ?4, ${database.now} where exists (select 1 from ${table} o where o.id = ?3)
            on conflict (id) do update set definition = excluded.definition
            where l.owner_kind = excluded.owner_kind and l.owner_id = excluded.owner_id
            returning id`,
          parameters,
        },
        changeOf(database, of, ownerId),
      ])
      if (owners!.length === 0) {
        throw new Refusal('not-found', `There is no ${of} ${JSON.stringify(ownerId)}: create it first`)
      }
      if (put!.length === 0) {
        throw new Refusal(
          'conflict',
          `Another owner has the limit ${JSON.stringify(limit.id)}: choose another id, or remove that one first`,
        )
      }
    },

    async remove(id) {
      const parameters = [parseField(idSchema, id, 'id', 'limit')]
      const [, , rows] = await database.batch([
        // Locks the row, so that a concurrent removal sees this one.
        { text: 'update {limits} set id = id where id = ?1', parameters },
        recorder.record(
          { noun: 'limit', kind: 'removed' },
          {
            text: `select id, case owner_kind
                when 'account' then owner_id
                when 'credential' then (select c.account from {credentials} c where c.id = owner_id)
              end as account from {limits} where id = ?1`,
            parameters,
          },
        ),
        { text: 'delete from {limits} where id = ?1 returning id', parameters },
        database.change('credentials'),
      ])
      return rows!.length > 0
    },

    async list(query = {}) {
      const { of, ownerId, ownerIds, after, limit = DEFAULT_ROWS } = parseInput(querySchema, query, 'limits')
      const { parameters, add, addEqual, addOneOf, where } = createConditions()
      addEqual({ owner_kind: of, owner_id: ownerId })
      if (ownerIds !== undefined) addOneOf('owner_id', ownerIds)
      if (after !== undefined) add((value) => `id > ${value}`, after)
      parameters.push(BigInt(limit))
      const rows = await database.all({
        text: `select owner_kind, owner_id, definition, ${database.now} as now
          from {limits} ${where()} order by id limit ?${parameters.length}`,
        parameters,
      })
      const limits = rows.map((row) => readLimits(row, 'definition')[0]!)
      const buckets = await bucketsOf(limits)
      return rows.map((row, index) => toLimitRow(row, limits[index]!, buckets.get(bucketOf(limits[index]!))))
    },
  }
}

/** Returns the limits of a new credential. Their ids say what they count. */
export function newLimitsOf(credentialId: string, limits: readonly NewLimit[]): readonly Limit[] {
  return limits.map((limit, index) => ({
    ...toLimit(limit, { of: 'key', field: `limits.${index}.amount` }),
    of: 'credential',
    ownerId: credentialId,
    id: `${credentialId}-${limit.unit}-${limit.per}`,
  }))
}

/** Returns a limit with its amount as an integer. Throws a `RangeError` if no account could hold it. */
function toLimit(
  { unit, per, zone, amount: text }: NewLimit,
  place: InputPlace,
): Omit<Limit, 'id' | 'of' | 'ownerId'> {
  const amount = unit === 'credits' ? parseCredits(text) : BigInt(text)
  checkHoldable(amount, place)
  return { unit, per, amount, ...(zone !== undefined && { zone }) }
}

/** SQL for the account that a new limit of an owner `o` concerns. */
function accountOf(of: LimitOwner): string {
  return { credential: 'o.account', account: 'o.id', app: 'null' }[of]
}

/** Returns the change to report. Limits of accounts and apps concern any number of credentials. */
function changeOf(database: SqlDatabase, of: LimitOwner, ownerId: string): Statement {
  return database.change('credentials', of === 'credential' ? ownerId : undefined)
}

function presentPeriod(calendar: PeriodCalendar, limit: Limit, now: number): readonly [number, number] {
  return calendar.around(limit, now).find(([from, to]) => from <= now && now < to)!
}
