import type { Mutable } from '../base/mutable.js'
import { present } from '../base/present.js'
import { MEDIA_UNITS, type MediaUnit } from '../base/units.js'
import type { CallFacts, Charge, Credits, Entry, LimitUse, Posting } from '../contracts/index.js'
import { mediaCount, type Usage } from '../protocol/usage.js'
import {
  readBigint,
  readJson,
  readNumber,
  readOptionalJson,
  readOptionalNumber,
  readOptionalText,
  readText,
} from './cells.js'
import type { Parameter, Row, SqlDatabase } from './database.js'
import { type LimitCells, readLimitCells, toLimitCells } from './limit-cells.js'
import { checkOptionalText, checkText } from './text.js'

type MediaColumn = MediaUnit['column']

/** The columns of audio and image tokens. A cell is null if there are no such tokens. */
export const MEDIA_COLUMNS: readonly MediaColumn[] = MEDIA_UNITS.map(({ column }) => column)

const TEXT_COLUMN_TYPES = {
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
  posted: 'bigint',
  postings: 'json',
  details: 'json',
} as const satisfies Readonly<Record<string, 'text' | 'bigint' | 'json'>>

type TextColumn = keyof typeof TEXT_COLUMN_TYPES
export type EntryColumn = TextColumn | MediaColumn

const TEXT_COLUMNS = Object.keys(TEXT_COLUMN_TYPES) as readonly TextColumn[]

/** The columns of a charge's entry and their types, except `id` and `at`, which the engine sets. */
export const ENTRY_COLUMN_TYPES = {
  ...TEXT_COLUMN_TYPES,
  ...(Object.fromEntries(MEDIA_COLUMNS.map((column) => [column, 'bigint'])) as Record<MediaColumn, 'bigint'>),
}

export const ENTRY_COLUMNS: readonly EntryColumn[] = [...TEXT_COLUMNS, ...MEDIA_COLUMNS]

/** A cell for each of {@link ENTRY_COLUMNS}, in the same order. */
export type EntryCells = readonly Parameter[]

/** The details of a refund's entry. */
export interface RefundDetails {
  readonly facts: Details['facts']
  /** The part of the cost of the charge that `refund_of` names. */
  readonly amount: string
  readonly memo?: string
  readonly limits?: LimitCells
}

/** The details that a charge's entry contains as JSON. Amounts are text. */
interface Details {
  readonly facts: Omit<CallFacts, 'account' | 'credentialId' | 'model' | 'appId' | 'sessionId' | 'provider'>
  readonly basis: Charge['basis']
  readonly byok: boolean
  readonly priceVersion?: string
  readonly shortfall?: string
  readonly limits?: LimitCells
}

type PostingCells = readonly (readonly [account: string, amount: string])[]

export function toEntryCells(
  holdId: string,
  charge: Charge,
  facts: CallFacts,
  postings: readonly Posting[],
  limits: readonly LimitUse[],
): EntryCells {
  const { account, credentialId, model, appId, sessionId, provider, ...rest } = facts
  const details: Details = {
    facts: rest,
    basis: charge.basis,
    byok: charge.byok,
    ...(charge.priceVersion !== undefined && { priceVersion: charge.priceVersion }),
    ...(charge.shortfall !== undefined && { shortfall: charge.shortfall.toString() }),
    ...(limits.length !== 0 && { limits: toLimitCells(limits) }),
  }
  const { usage } = charge
  const cells: Readonly<Record<TextColumn, Parameter>> = {
    hold_id: holdId,
    account,
    credential_id: checkText(credentialId, 'credentialId'),
    model: checkText(model, 'model'),
    app_id: checkOptionalText(appId, 'appId'),
    session_id: checkOptionalText(sessionId, 'sessionId'),
    provider: checkOptionalText(provider, 'provider'),
    cost: charge.cost,
    base: charge.base,
    markup: charge.markup,
    prompt: BigInt(usage.prompt),
    cached: BigInt(usage.cached),
    cache_write: BigInt(usage.cacheWrite),
    completion: BigInt(usage.completion),
    reasoning: BigInt(usage.reasoning),
    posted: postings.find((posting) => posting.account === account)?.amount ?? 0n,
    postings: toPostingsCell(postings),
    details: JSON.stringify(details),
  }
  return [
    ...TEXT_COLUMNS.map((column) => cells[column]),
    ...MEDIA_UNITS.map(({ name }) => toCountCell(mediaCount(usage, name))),
  ]
}

function toCountCell(count: number | undefined): bigint | null {
  return count === undefined ? null : BigInt(count)
}

export function toPostingsCell(postings: readonly Posting[]): string {
  return JSON.stringify(postings.map(({ account, amount }) => [account, amount.toString()]))
}

export function readCharge(row: Row): Charge {
  const details = readJson<Details>(row, 'details')
  return {
    cost: readBigint(row, 'cost'),
    base: readBigint(row, 'base'),
    markup: readBigint(row, 'markup'),
    basis: details.basis,
    byok: details.byok,
    usage: readUsage(row),
    ...(details.priceVersion !== undefined && { priceVersion: details.priceVersion }),
    ...(details.shortfall !== undefined && { shortfall: BigInt(details.shortfall) }),
  }
}

/** Reads the tokens from an entry's row, or from a row of sums. */
export function readUsage(row: Row): Usage {
  const usage: Mutable<Usage> = {
    prompt: readNumber(row, 'prompt'),
    cached: readNumber(row, 'cached'),
    cacheWrite: readNumber(row, 'cache_write'),
    completion: readNumber(row, 'completion'),
    reasoning: readNumber(row, 'reasoning'),
  }
  for (const { name, column } of MEDIA_UNITS) {
    const count = readOptionalNumber(row, column) ?? 0
    if (count > 0) usage[name] = count
  }
  return usage
}

export function readEntry(row: Row): Entry {
  const kind = readText(row, 'kind') as Entry['kind']
  const limits = readOptionalJson<Partial<Pick<Details, 'limits'>>>(row, 'details')?.limits
  const common = {
    id: readBigint(row, 'id').toString(),
    at: readNumber(row, 'at'),
    kind,
    postings: readJson<PostingCells>(row, 'postings').map(([account, amount]) => ({
      account,
      amount: BigInt(amount) as Credits,
    })),
    ...(limits !== undefined && { limits: readLimitCells(limits) }),
  }
  if (kind === 'charge') {
    return { ...common, holdId: readText(row, 'hold_id'), charge: readCharge(row), facts: readFacts(row) }
  }
  const memo = readOptionalJson<{ memo?: string }>(row, 'details')?.memo
  const noted = { ...common, ...present({ memo, reference: readOptionalText(row, 'reference') }) }
  if (kind !== 'refund') return noted
  const { amount } = readJson<RefundDetails>(row, 'details')
  const refund = { of: readBigint(row, 'refund_of').toString(), amount: BigInt(amount) }
  return { ...noted, refund, facts: readFacts(row) }
}

function readFacts(row: Row): CallFacts {
  const { facts } = readJson<Pick<Details, 'facts'>>(row, 'details')
  return {
    ...facts,
    account: readText(row, 'account'),
    credentialId: readText(row, 'credential_id'),
    model: readText(row, 'model'),
    ...present({
      appId: readOptionalText(row, 'app_id'),
      sessionId: readOptionalText(row, 'session_id'),
      provider: readOptionalText(row, 'provider'),
    }),
  }
}

/** SQL for the part of its charge's cost that a refund `e` reverses. */
export function refundedBy(engine: SqlDatabase['engine']): string {
  return engine === 'postgres'
    ? "cast(cast(e.details as json) ->> 'amount' as bigint)"
    : "cast(e.details ->> 'amount' as integer)"
}

/** SQL for what a charge or a refund `e` adds to what its account has spent. */
export function spentOf({ engine }: Pick<SqlDatabase, 'engine'>): string {
  return `case e.kind when 'refund' then -${refundedBy(engine)} else e.cost end`
}
