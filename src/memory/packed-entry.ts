import type { CallFacts, Charge, Posting } from '../contracts/index.js'

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
    holdId,
    claim,
    memo,
    postingCells(postings),
    charge && checkedCharge(chargeCells(charge)),
    facts && checkedFacts(factCells(facts)),
  ]
}

export function packCells([at, holdId, claim, memo, postings, charge, facts]: EntryCells): PackedEntry {
  return JSON.stringify([at, holdId, claim, memo, postings.map(asText), charge?.map(asText), facts])
}

export function unpackEntry(packed: PackedEntry): KeptEntry {
  const [at, holdId, claim, memo, postings, charge, facts]: JsonCells = JSON.parse(packed)
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

type Cell = string | number | boolean | bigint | undefined
export type EntryCells = [
  at: number,
  holdId: string | undefined,
  claim: string | undefined,
  memo: string | undefined,
  postings: readonly Cell[],
  charge: readonly Cell[] | undefined,
  facts: readonly Cell[] | undefined,
]

/** What is undefined is null in JSON, and an amount is a text. */
type JsonCell = string | number | boolean | null
type JsonCells = [
  at: number,
  holdId: string | null,
  claim: string | null,
  memo: string | null,
  postings: readonly string[],
  charge: readonly JsonCell[] | null,
  facts: readonly JsonCell[] | null,
]

function checkedCharge(cells: readonly Cell[]): readonly Cell[] {
  if (!cells.some((cell) => typeof cell === 'object' && cell !== null)) return cells
  throw new TypeError('charge may hold no object but usage')
}

function checkedFacts(cells: readonly Cell[]): readonly Cell[] {
  const wrong = cells.findIndex((cell) => typeof cell !== 'string' && cell !== undefined && cell !== null)
  if (wrong === -1) return cells
  throw new TypeError(`facts.${FACTS[wrong]} must be a string`)
}

function asText(cell: Cell): Exclude<Cell, bigint> {
  return typeof cell === 'bigint' ? String(cell) : cell
}

function postingCells(postings: readonly Posting[]): Cell[] {
  const cells: Cell[] = []
  for (const { account, amount } of postings) cells.push(account, amount)
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

function chargeCells(charge: Charge): Cell[] {
  const { cost, base, markup, basis, byok, priceVersion, shortfall, usage } = charge
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

function readCharge(cells: readonly JsonCell[]): Charge {
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

function factCells(facts: CallFacts): Cell[] {
  return [
    facts.requestId,
    facts.account,
    facts.credentialId,
    facts.model,
    facts.appId,
    facts.claimedAppId,
    facts.sessionId,
    facts.user,
    facts.provider,
    facts.routeId,
    facts.completionId,
  ]
}

const FACTS = [
  'requestId',
  'account',
  'credentialId',
  'model',
  'appId',
  'claimedAppId',
  'sessionId',
  'user',
  'provider',
  'routeId',
  'completionId',
] as const satisfies readonly (keyof CallFacts)[]

function readFacts(cells: readonly JsonCell[]): CallFacts {
  const present = FACTS.flatMap((name, index) => (cells[index] === null ? [] : [[name, cells[index]]]))
  return Object.fromEntries(present)
}
