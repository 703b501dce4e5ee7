import type { Parameter } from '../sql/database.js'
import { ENTRY_COLUMN_TYPES } from '../sql/entry-rows.js'
import { toArray, toLines } from './arrays.js'

/** The parameters of `apply_ledger` for limits. */
const LIMIT_PARAMETERS = {
  buckets: 'text',
  first_limits: 'int',
  last_limits: 'int',
  limit_parts: 'json',
  limit_holds: 'int',
  limit_buckets: 'int',
  limit_windows: 'int',
  limit_units: 'text',
  limits: 'bigint',
  limit_amounts: 'bigint',
  limit_steps: 'bigint',
  limit_hidden: 'int',
  period_windows: 'int',
  period_starts: 'bigint',
  period_ends: 'bigint',
  use_settlements: 'int',
  use_buckets: 'int',
  use_starts: 'bigint',
  use_amounts: 'bigint',
} as const

export type LimitParameter = keyof typeof LIMIT_PARAMETERS

/**
 * The arrays that `apply_ledger` takes, in its order: the name of each parameter, without its `p_`, and the type of its
 * elements. `apply-ledger.ts` says what each contains.
 */
export const LEDGER_PARAMETERS = {
  accounts: 'text',
  released: 'text',
  release_accounts: 'text',
  claims: 'text',
  ...ENTRY_COLUMN_TYPES,
  payers: 'text',
  payer_places: 'bigint',
  creditors: 'text',
  posting_settlements: 'int',
  posting_accounts: 'text',
  posting_amounts: 'bigint',
  group_accounts: 'text',
  group_totals: 'numeric',
  holds: 'text',
  hold_groups: 'int',
  hold_accounts: 'text',
  amounts: 'bigint',
  ttls: 'bigint',
  hold_claims: 'text',
  replaces: 'text',
  facts: 'json',
  step_amounts: 'bigint',
  usual_steps: 'bigint',
  most_steps: 'bigint',
  hides_balance: 'int',
  before_balance: 'int',
  ...LIMIT_PARAMETERS,
  awaited_accounts: 'text',
  awaited_buckets: 'text',
} as const satisfies Readonly<Record<string, 'text' | 'int' | 'bigint' | 'numeric' | 'json'>>

export type LedgerParameter = keyof typeof LEDGER_PARAMETERS

const NAMES = Object.keys(LEDGER_PARAMETERS) as readonly LedgerParameter[]

/** SQL for the parameters of a call: the arrays, and the process that takes the holds. */
export const PLACEHOLDERS = [...NAMES, 'process'].map((_, index) => `?${index + 1}`).join(', ')

/**
 * Returns the parameters of a call, in order. JSON cells are passed as lines of one text. An array of only nulls is
 * passed empty, which costs less and reads the same.
 */
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
