import type { SqlDatabase } from './database.js'
import { MEDIA_COLUMNS } from './entry-rows.js'
import { isUnequal, keptOf } from './payer-posting.js'
import { sumColumns, sumOfAmounts, wholeSum } from './sums.js'

/**
 * Totals of charges are kept for each day in UTC, since many days have few rows, and for each quarter of an hour, with which
 * the days of every time zone begin.
 */
export const DAY_MS = 86_400_000
export const QUARTER_MS = 900_000

const TOKENS = ['prompt', 'cached', 'cache_write', 'completion', 'reasoning'] as const

/** The sums of charges that are counts. */
export const COUNTS: readonly string[] = ['calls', ...TOKENS, ...MEDIA_COLUMNS, 'unequal']

/** The sums of charges that are amounts, in two columns each. */
export const AMOUNTS = ['cost', 'base', 'markup', 'posted', 'kept'] as const

/** The columns of a row of sums of charges. */
export const CHARGE_SUMS: readonly string[] = [...COUNTS, ...AMOUNTS.flatMap(sumColumns)]

/** The columns of a row of sums by account. `refunded` is the part of costs that refunds reversed. */
export const ACCOUNT_SUMS: readonly string[] = [...CHARGE_SUMS, ...sumColumns('refunded')]

/**
 * The sums of an account's postings: credits, corrections, refunds of its own calls, shares of others' charges, and what refunds
 * of these took back.
 */
export const POSTING_AMOUNTS = ['credited', 'corrected', 'refunded', 'earned', 'returned'] as const
export type PostingAmount = (typeof POSTING_AMOUNTS)[number]

/** The columns of a row of sums of postings. */
export const POSTING_SUMS: readonly string[] = POSTING_AMOUNTS.flatMap(sumColumns)

/** SQL for a cell of a charge `e`. */
const UNEQUAL = `case when ${isUnequal('e.posted')} then 1 else 0 end`
const AMOUNT_OF = {
  cost: 'e.cost',
  base: 'e.base',
  markup: 'e.markup',
  posted: 'e.posted',
  kept: keptOf('e.posted'),
} as const

/** SQL that adds up charges `e`, in the columns of {@link CHARGE_SUMS}. */
export function sumCharges(engine: SqlDatabase['engine']): string {
  return [
    'count(*) as calls',
    ...[...TOKENS, ...MEDIA_COLUMNS].map((name) => `${wholeSum(`e.${name}`)} as ${name}`),
    `${wholeSum(UNEQUAL)} as unequal`,
    ...AMOUNTS.map((name) => sumOfAmounts(engine, AMOUNT_OF[name], name)),
  ].join(', ')
}

/** SQL that adds up columns of sums, under the same names. */
export function addUp(columns: readonly string[]): string {
  return columns.map((name) => `${wholeSum(name)} as ${name}`).join(', ')
}
