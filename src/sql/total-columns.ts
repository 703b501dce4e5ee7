import { MEDIA_COLUMNS } from './entry-rows.js'
import { isUnequal, keptOf } from './payer-posting.js'
import { partsOf, sumColumns, wholeSum } from './sums.js'

/**
 * Totals of charges are kept for each day in UTC, since many days have few rows, and for each quarter of an hour, with which
 * the days of every time zone begin.
 */
export const DAY_MS = 86_400_000
export const QUARTER_MS = 900_000

/** The sums of charges that are counts. */
export const COUNTS: readonly string[] = [
  'calls',
  'prompt',
  'cached',
  'cache_write',
  'completion',
  'reasoning',
  ...MEDIA_COLUMNS,
  'unequal',
]

/** The sums of charges that are amounts, in two columns each. */
export const AMOUNTS = ['cost', 'base', 'markup', 'posted', 'kept'] as const

/** The columns of a row of sums of charges. */
export const CHARGE_SUMS: readonly string[] = [...COUNTS, ...AMOUNTS.flatMap(sumColumns)]

/** SQL for a charge `e` as a row of such sums. */
export const ONE_CHARGE = [
  '1 as calls',
  ...['prompt', 'cached', 'cache_write', 'completion', 'reasoning'].map((name) => `e.${name}`),
  ...MEDIA_COLUMNS.map((name) => `coalesce(e.${name}, 0) as ${name}`),
  `case when ${isUnequal('e.posted')} then 1 else 0 end as unequal`,
  ...(['cost', 'base', 'markup', 'posted'] as const).map((name) => partsOf(`e.${name}`, name)),
  partsOf(keptOf('e.posted'), 'kept'),
].join(', ')

/** SQL that adds up columns of sums, under the same names. */
export function addUp(columns: readonly string[]): string {
  return columns.map((name) => `${wholeSum(name)} as ${name}`).join(', ')
}
