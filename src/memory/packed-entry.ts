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

/**
 * A copy of an entry, to be packed later: amounts become texts only then. Throws a `TypeError` where its facts or its
 * charge cannot be kept.
 */
export function cellsOf({ at, holdId, claim, memo, postings, charge, facts }: KeptEntry): EntryCells {
  return [
    at,
    holdId ?? null,
    claim ?? null,
    memo ?? null,
    postingCells(postings),
    charge === undefined ? null : checked(chargeCells(charge), 'charge', CHARGE_AMOUNTS),
    facts === undefined ? null : checked(factCells(facts), 'facts'),
  ]
}

/** Of cells that are of no more use. */
export function packCells(cells: EntryCells): PackedEntry {
  const [, , , , postings, charge] = cells
  for (let index = 1; index < postings.length; index += 2) postings[index] = String(postings[index])
  if (charge !== null) {
    for (const index of CHARGE_AMOUNTS) {
      const amount = charge[index]
      if (amount !== undefined) charge[index] = String(amount)
    }
  }
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

/** What is undefined is null in JSON. An amount is a bigint until it is packed, and a text once it is. */
type Cell = string | number | boolean | bigint | null | undefined
export type EntryCells = [
  at: number,
  holdId: string | null,
  claim: string | null,
  memo: string | null,
  postings: (string | bigint)[],
  charge: Cell[] | null,
  facts: FactCells | null,
]

/** Where amounts stand among the cells of a charge. */
const CHARGE_AMOUNTS = [0, 1, 2, 11] as const
const NONE: readonly number[] = []

/** Anything else could not be packed, or could be changed until then. Only at `amounts` there may be bigints. */
function checked<Cells extends readonly Cell[]>(
  cells: Cells,
  what: string,
  amounts: readonly number[] = NONE,
): Cells {
  for (let index = 0; index < cells.length; index++) {
    const cell = cells[index]
    if (typeof cell === 'string' || typeof cell === 'number' || typeof cell === 'boolean') continue
    if (cell === undefined || cell === null || (typeof cell === 'bigint' && amounts.includes(index))) continue
    throw new TypeError(`${what} may hold texts, numbers and booleans alone`)
  }
  return cells
}

function postingCells(postings: readonly Posting[]): (string | bigint)[] {
  const cells: (string | bigint)[] = []
  for (const { account, amount } of postings) cells.push(account, amount)
  return cells
}

function readPostings(cells: readonly (string | bigint)[]): Posting[] {
  const postings: Posting[] = []
  for (let index = 0; index < cells.length; index += 2) {
    postings.push({ account: String(cells[index]), amount: BigInt(cells[index + 1]!) })
  }
  return postings
}

// Cells are written out one by one: every call passes here, and to look fields up by name would cost a microsecond.

function chargeCells({ cost, base, markup, basis, byok, priceVersion, shortfall, usage }: Charge): Cell[] {
  const { prompt, cached, cacheWrite, completion, reasoning } = usage
  return [
    cost,
    base,
    markup,
    basis,
    byok,
    prompt,
    cached,
    cacheWrite,
    completion,
    reasoning,
    priceVersion,
    shortfall,
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
