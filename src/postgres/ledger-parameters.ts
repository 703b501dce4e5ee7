import type { Parameter } from '../sql/database.js'
import { ENTRY_COLUMN_TYPES, type EntryColumn } from '../sql/entry-rows.js'
import { fromLines, toArray, toLines } from './arrays.js'

/**
 * The arrays that are passed to the ledger function: the name of each parameter, without its `p_`, and the type of its
 * elements. The function's declaration and its call are both made from this table. Databases already have this function,
 * so any change of a name, a type or the order needs a migration that creates a function with another name.
 *
 * The arrays of one group have an element for each of the same things, in the same order. A place in an array counts from
 * 1, as in SQL.
 */
const LEDGER_PARAMETERS = {
  // The accounts to lock: all of the batch, each once.
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
  // Accounts with postings, each once. They are created if they do not exist.
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
} as const satisfies Readonly<Record<string, 'text' | 'int' | 'bigint' | 'numeric' | 'json'>>

export type LedgerParameter = keyof typeof LEDGER_PARAMETERS

const NAMES = Object.keys(LEDGER_PARAMETERS) as readonly LedgerParameter[]

/** Returns SQL that declares the parameters of a function that writes these columns of entries. */
export function declaredParameters(entryColumns: readonly EntryColumn[]): string {
  const written: readonly string[] = entryColumns
  return NAMES.filter((name) => !(name in ENTRY_COLUMN_TYPES) || written.includes(name))
    .map((name) => {
      const type = LEDGER_PARAMETERS[name]
      return `p_${name} ${type === 'json' ? 'text' : `${type}[]`}`
    })
    .join(',\n  ')
}

/** SQL for the parameters of a call. */
export const PLACEHOLDERS = NAMES.map((_, index) => `?${index + 1}`).join(', ')

/** SQL for a parameter as an array. */
export function arrayOf(name: LedgerParameter): string {
  return LEDGER_PARAMETERS[name] === 'json' ? fromLines(`p_${name}`) : `p_${name}`
}

/** Returns the parameters of a call, in their order. */
export function toLedgerParameters(
  arrays: Readonly<Record<LedgerParameter, readonly Parameter[]>>,
): readonly Parameter[] {
  return NAMES.map((name) => {
    const cells = arrays[name]
    return LEDGER_PARAMETERS[name] === 'json' ? toLines(cells) : toArray(cells)
  })
}
