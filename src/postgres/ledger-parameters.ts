import type { Parameter } from '../sql/database.js'
import { ENTRY_COLUMN_TYPES } from '../sql/entry-rows.js'
import { fromLines, toArray, toLines } from './arrays.js'

/**
 * What the ledger function is given, as arrays: the type of their elements by the name of the parameter, less its `p_`.
 * The function's declaration and its call are both made from this table. Its names, types and order are those of a
 * function that databases have, so a change of any is a function of another name, made by a migration.
 *
 * Arrays that stand together here have an element for each of the same things, in the same order. A place in an array
 * counts from 1, as in SQL.
 */
const LEDGER_PARAMETERS = {
  // Accounts that are locked: all of the batch, each once.
  accounts: 'text',

  // Releases.
  released: 'text',
  release_accounts: 'text',

  // Settlements: the claim of each, and its entry.
  claims: 'text',
  ...ENTRY_COLUMN_TYPES,

  // Those who pay, each once, with the place of one of their settlements.
  payers: 'text',
  payer_places: 'bigint',
  // Accounts that have postings, each once: they are made if there are none.
  creditors: 'text',
  // Postings, with the place of the settlement.
  posting_settlements: 'int',
  posting_accounts: 'text',
  posting_amounts: 'bigint',

  // Accounts whose holds are asked for together, with their sum.
  group_accounts: 'text',
  group_totals: 'numeric',
  // Holds, with the place of the group; 0 is none.
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

/** SQL that declares the parameters. */
export const DECLARED_PARAMETERS = NAMES.map((name) => {
  const type = LEDGER_PARAMETERS[name]
  return `p_${name} ${type === 'json' ? 'text' : `${type}[]`}`
}).join(',\n  ')

/** SQL that stands for the parameters in a call. */
export const PLACEHOLDERS = NAMES.map((_, index) => `?${index + 1}`).join(', ')

/** SQL for a parameter as an array. */
export function arrayOf(name: LedgerParameter): string {
  return LEDGER_PARAMETERS[name] === 'json' ? fromLines(`p_${name}`) : `p_${name}`
}

/** The parameters of a call, in their order. */
export function toLedgerParameters(
  arrays: Readonly<Record<LedgerParameter, readonly Parameter[]>>,
): readonly Parameter[] {
  return NAMES.map((name) => {
    const cells = arrays[name]
    return LEDGER_PARAMETERS[name] === 'json' ? toLines(cells) : toArray(cells)
  })
}
