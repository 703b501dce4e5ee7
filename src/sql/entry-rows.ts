import type { CallFacts, Charge, Credits, Entry, Posting } from '../contracts/index.js'
import type { Usage } from '../protocol/usage.js'
import { readBigint, readJson, readNumber, readOptionalJson, readOptionalText, readText } from './cells.js'
import type { Parameter, Row } from './database.js'
import { checkOptionalText, checkText } from './text.js'

/** The columns of a charge's entry, in the order of {@link EntryCells}; `id` and `at` are the engine's. */
export const ENTRY_COLUMNS = [
  'hold_id',
  'account',
  'credential_id',
  'model',
  'app_id',
  'session_id',
  'provider',
  'cost',
  'base',
  'markup',
  'prompt',
  'cached',
  'cache_write',
  'completion',
  'reasoning',
  'postings',
  'details',
] as const

/** A type for each column: what PostgreSQL's arrays are declared as. */
export const ENTRY_COLUMN_TYPES: Readonly<Record<(typeof ENTRY_COLUMNS)[number], 'text' | 'bigint'>> = {
  hold_id: 'text',
  account: 'text',
  credential_id: 'text',
  model: 'text',
  app_id: 'text',
  session_id: 'text',
  provider: 'text',
  cost: 'bigint',
  base: 'bigint',
  markup: 'bigint',
  prompt: 'bigint',
  cached: 'bigint',
  cache_write: 'bigint',
  completion: 'bigint',
  reasoning: 'bigint',
  postings: 'text',
  details: 'text',
}

export type EntryCells = readonly Parameter[]

/** What an entry holds as JSON. Amounts are text. */
interface Details {
  readonly facts: Omit<CallFacts, 'account' | 'credentialId' | 'model' | 'appId' | 'sessionId' | 'provider'>
  readonly basis: Charge['basis']
  readonly byok: boolean
  readonly priceVersion?: string
  readonly shortfall?: string
}

type PostingCells = readonly (readonly [account: string, amount: string])[]

export function toEntryCells(
  holdId: string,
  charge: Charge,
  facts: CallFacts,
  postings: readonly Posting[],
): EntryCells {
  const { account, credentialId, model, appId, sessionId, provider, ...rest } = facts
  const details: Details = {
    facts: rest,
    basis: charge.basis,
    byok: charge.byok,
    ...(charge.priceVersion === undefined ? {} : { priceVersion: charge.priceVersion }),
    ...(charge.shortfall === undefined ? {} : { shortfall: charge.shortfall.toString() }),
  }
  const { usage } = charge
  return [
    holdId,
    account,
    checkText(credentialId, 'credentialId'),
    checkText(model, 'model'),
    checkOptionalText(appId, 'appId'),
    checkOptionalText(sessionId, 'sessionId'),
    checkOptionalText(provider, 'provider'),
    charge.cost,
    charge.base,
    charge.markup,
    BigInt(usage.prompt),
    BigInt(usage.cached),
    BigInt(usage.cacheWrite),
    BigInt(usage.completion),
    BigInt(usage.reasoning),
    toPostingsCell(postings),
    JSON.stringify(details),
  ]
}

export function toPostingsCell(postings: readonly Posting[]): string {
  return JSON.stringify(postings.map(({ account, amount }) => [account, amount.toString()]))
}

/** The charge in an entry's row. */
export function readCharge(row: Row): Charge {
  const details = readJson<Details>(row, 'details')
  return {
    cost: readBigint(row, 'cost'),
    base: readBigint(row, 'base'),
    markup: readBigint(row, 'markup'),
    basis: details.basis,
    byok: details.byok,
    usage: readUsage(row),
    ...(details.priceVersion === undefined ? {} : { priceVersion: details.priceVersion }),
    ...(details.shortfall === undefined ? {} : { shortfall: BigInt(details.shortfall) }),
  }
}

/** The tokens in an entry's row, or in one of their sums. */
export function readUsage(row: Row): Usage {
  return {
    prompt: readNumber(row, 'prompt'),
    cached: readNumber(row, 'cached'),
    cacheWrite: readNumber(row, 'cache_write'),
    completion: readNumber(row, 'completion'),
    reasoning: readNumber(row, 'reasoning'),
  }
}

export function readEntry(row: Row): Entry {
  const kind = readText(row, 'kind') as Entry['kind']
  const common = {
    id: readBigint(row, 'id').toString(),
    at: readNumber(row, 'at'),
    kind,
    postings: readJson<PostingCells>(row, 'postings').map(([account, amount]) => ({
      account,
      amount: BigInt(amount) as Credits,
    })),
  }
  if (kind !== 'charge') {
    const memo = readOptionalJson<{ memo?: string }>(row, 'details')?.memo
    return memo === undefined ? common : { ...common, memo }
  }
  return { ...common, holdId: readText(row, 'hold_id'), charge: readCharge(row), facts: readFacts(row) }
}

function readFacts(row: Row): CallFacts {
  const { facts } = readJson<Details>(row, 'details')
  const appId = readOptionalText(row, 'app_id')
  const sessionId = readOptionalText(row, 'session_id')
  const provider = readOptionalText(row, 'provider')
  return {
    ...facts,
    account: readText(row, 'account'),
    credentialId: readText(row, 'credential_id'),
    model: readText(row, 'model'),
    ...(appId === undefined ? {} : { appId }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(provider === undefined ? {} : { provider }),
  }
}
