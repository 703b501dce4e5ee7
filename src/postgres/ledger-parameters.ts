import type { Parameter } from '../sql/database.js'
import { ENTRY_COLUMN_TYPES, type EntryColumn } from '../sql/entry-rows.js'
import { fromLines, toArray, toLines } from './arrays.js'

/** The arrays for limits, of a function that knows them. */
const LIMIT_PARAMETERS = {
  // Buckets of limits: those of the holds and the settlements, each once.
  buckets: 'text',
  // For each hold, the places of the first and the last of its limits. The first is greater if it has none. Empty if no
  // hold has any, as are their parts.
  first_limits: 'int',
  last_limits: 'int',
  // For each hold, the parts of buckets that it will account for, with %s for the beginning of each period.
  limit_parts: 'json',
  // Limits, in the order of their holds, with the places of the hold, the bucket and the windows.
  limit_holds: 'int',
  limit_buckets: 'int',
  limit_windows: 'int',
  limit_units: 'text',
  limits: 'bigint',
  limit_amounts: 'bigint',
  // The periods of all windows, with the place of the windows that they belong to.
  period_windows: 'int',
  period_starts: 'bigint',
  period_ends: 'bigint',
  // Credits and tokens that settlements use, with the places of the settlement and the bucket.
  use_settlements: 'int',
  use_buckets: 'int',
  use_starts: 'bigint',
  use_amounts: 'bigint',
} as const

/** The rows that a batch waits for, of a function that knows lanes. */
const LANE_PARAMETERS = {
  awaited_accounts: 'text',
  awaited_buckets: 'text',
} as const

export type LimitParameter = keyof typeof LIMIT_PARAMETERS

/**
 * The arrays that are passed to the ledger function: the name of each parameter, without its `p_`, and the type of its
 * elements. The function's declaration and its call are both made from this table. Databases already have this function,
 * so any change of a name, a type or the order needs a migration that creates a function with another name.
 *
 * The arrays of one group have an element for each of the same things, in the same order. A place in an array counts from
 * 1, as in SQL. An array of nothing but nulls is passed empty, which costs less and reads the same: a missing element is
 * null, and `unnest` fills the shorter arrays up with nulls.
 */
const LEDGER_PARAMETERS = {
  // The accounts to lock, each once: those of releases and holds, and those that pay.
  accounts: 'text',

  // Releases.
  released: 'text',
  release_accounts: 'text',

  // Settlements: the claim of each, and its entry.
  claims: 'text',
  ...ENTRY_COLUMN_TYPES,

  // Paying accounts, each once, with the place of one of their settlements.
  payers: 'text',
  payer_places: 'bigint',
  // Accounts that earn, each once. They are created if they do not exist.
  creditors: 'text',
  // Postings, with the place of their settlement.
  posting_settlements: 'int',
  posting_accounts: 'text',
  posting_amounts: 'bigint',

  // Accounts whose holds are taken together, with their total.
  group_accounts: 'text',
  group_totals: 'numeric',
  // Holds, with the place of their group, or 0 for none.
  holds: 'text',
  hold_groups: 'int',
  hold_accounts: 'text',
  amounts: 'bigint',
  ttls: 'bigint',
  hold_claims: 'text',
  replaces: 'text',
  facts: 'json',

  ...LIMIT_PARAMETERS,

  ...LANE_PARAMETERS,
} as const satisfies Readonly<Record<string, 'text' | 'int' | 'bigint' | 'numeric' | 'json'>>

export type LedgerParameter = keyof typeof LEDGER_PARAMETERS

const NAMES = Object.keys(LEDGER_PARAMETERS) as readonly LedgerParameter[]

/**
 * The version of a ledger function: the columns of entries that it writes, whether it knows limits, and whether it knows
 * processes, leaves out commands whose rows are busy and adds earnings to slots.
 */
export interface FunctionVersion {
  readonly entryColumns: readonly EntryColumn[]
  readonly hasLimits: boolean
  readonly hasLanes: boolean
}

/** Returns SQL that declares the parameters of a function. */
export function declaredParameters({ entryColumns, hasLimits, hasLanes }: FunctionVersion): string {
  const written: readonly string[] = entryColumns
  const arrays = NAMES.filter((name) => !(name in ENTRY_COLUMN_TYPES) || written.includes(name))
    .filter((name) => hasLimits || !(name in LIMIT_PARAMETERS))
    .filter((name) => hasLanes || !(name in LANE_PARAMETERS))
    .map((name) => {
      const type = LEDGER_PARAMETERS[name]
      return `p_${name} ${type === 'json' ? 'text' : `${type}[]`}`
    })
  return [...arrays, ...(hasLanes ? ['p_process text'] : [])].join(',\n  ')
}

/** SQL for the last columns of a function's row that has no counts of limits. */
export function noCounts(version: FunctionVersion): string {
  return version.hasLimits ? `, null::bigint[]${noAwaited(version)}` : ''
}

/** SQL for the last column of a function's row that waits for nothing. */
export function noAwaited({ hasLanes }: FunctionVersion): string {
  return hasLanes ? ', null::text' : ''
}

/** SQL for the parameters of a call: the arrays, and the process that takes the holds. */
export const PLACEHOLDERS = [...NAMES, 'process'].map((_, index) => `?${index + 1}`).join(', ')

/** SQL for a parameter as an array. */
export function arrayOf(name: LedgerParameter): string {
  return LEDGER_PARAMETERS[name] === 'json' ? fromLines(`p_${name}`) : `p_${name}`
}

/** Returns the parameters of a call, in their order. */
export function toLedgerParameters(
  arrays: Readonly<Record<LedgerParameter, readonly Parameter[]>>,
  process: string | undefined,
): readonly Parameter[] {
  const parameters: Parameter[] = NAMES.map((name) => {
    const cells = arrays[name]
    if (LEDGER_PARAMETERS[name] === 'json') return toLines(cells)
    return cells.every((cell) => cell === null) ? '{}' : toArray(cells)
  })
  parameters.push(process ?? null)
  return parameters
}
