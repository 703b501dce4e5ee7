import type { CallFacts, Charge, Posting } from '../contracts/index.js'
import { type FactCells, factCells, readFacts } from './fact-cells.js'

/** What was posted, as the ledger keeps it. */
export interface KeptEntry {
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  readonly postings: readonly Posting[]
  readonly memo?: string | undefined
  /** From here on of a charge only. */
  readonly holdId?: string
  readonly claim?: string | undefined
  readonly charge?: Charge
  readonly facts?: CallFacts
}

/** An entry as one line of JSON: its cells in a fixed order, without their names. */
type PackedEntry = string

/** A copy of an entry, to be packed later. Throws a `TypeError` where its facts or its charge cannot be kept. */
export function cellsOf({ at, holdId, claim, memo, postings, charge, facts }: KeptEntry): EntryCells {
  return [
    at,
    holdId ?? null,
    claim ?? null,
    memo ?? null,
    postingCells(postings),
    charge === undefined ? null : checked(chargeCells(charge), 'charge'),
    facts === undefined ? null : checked(factCells(facts), 'facts'),
  ]
}

export function packCells(cells: EntryCells): PackedEntry {
  return JSON.stringify(cells)
}

export function unpackEntry(packed: PackedEntry): KeptEntry {
  const [at, holdId, claim, memo, postings, charge, facts]: EntryCells = JSON.parse(packed)
  return {
    at,
    postings: readPostings(postings),
    ...(holdId !== null && { holdId }),
    ...(claim !== null && { claim }),
    ...(memo !== null && { memo }),
    ...(charge !== null && { charge: readCharge(charge) }),
    ...(facts !== null && { facts: readFacts(facts) }),
  }
}

/** How each of these strings stands in a packed entry that has it, so that most of those without it need no unpacking. */
export function packedStrings(strings: readonly (string | undefined)[]): readonly string[] {
  return strings.flatMap((text) => (text === undefined ? [] : JSON.stringify(text)))
}

/** What is undefined is null in JSON. */
type Cell = string | number | boolean | null | undefined
export type EntryCells = [
  at: number,
  holdId: string | null,
  claim: string | null,
  memo: string | null,
  postings: readonly string[],
  charge: readonly Cell[] | null,
  facts: FactCells | null,
]

const UNFIT = new Set(['object', 'bigint', 'function', 'symbol'])

/** Anything else could not be packed, or could be changed until then. */
function checked<Cells extends readonly Cell[]>(cells: Cells, what: string): Cells {
  for (const cell of cells) {
    if (cell === null || !UNFIT.has(typeof cell)) continue
    throw new TypeError(`${what} may hold texts, numbers and booleans alone`)
  }
  return cells
}

function postingCells(postings: readonly Posting[]): string[] {
  const cells: string[] = []
  for (const { account, amount } of postings) cells.push(account, String(amount))
  return cells
}

function readPostings(cells: readonly string[]): Posting[] {
  const postings: Posting[] = []
  for (let index = 0; index < cells.length; index += 2) {
    postings.push({ account: cells[index]!, amount: BigInt(cells[index + 1]!) })
  }
  return postings
}

// Cells are written out one by one: every call passes here, and to look fields up by name would cost a microsecond.

function chargeCells({ cost, base, markup, basis, byok, priceVersion, shortfall, usage }: Charge) {
  const { prompt, cached, cacheWrite, completion, reasoning } = usage
  return [
    String(cost),
    String(base),
    String(markup),
    basis,
    byok,
    prompt,
    cached,
    cacheWrite,
    completion,
    reasoning,
    priceVersion,
    shortfall === undefined ? undefined : String(shortfall),
  ]
}

function readCharge(cells: readonly Cell[]): Charge {
  const [cost, base, markup, basis, byok, ...rest] = cells
  const [prompt, cached, cacheWrite, completion, reasoning, priceVersion, shortfall] = rest
  return {
    cost: BigInt(cost!),
    base: BigInt(base!),
    markup: BigInt(markup!),
    basis,
    byok,
    usage: { prompt, cached, cacheWrite, completion, reasoning },
    ...(priceVersion !== null && { priceVersion }),
    ...(shortfall !== null && { shortfall: BigInt(shortfall!) }),
  } as Charge
}
