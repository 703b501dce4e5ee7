import type { CallFacts, Charge, Credits, Posting } from '../contracts/index.js'

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

/**
 * An entry as one string. A ledger keeps very many, and the garbage collector carries and marks a string as one thing,
 * but the objects of an entry as twenty.
 */
export type PackedEntry = string

export function packEntry({ at, holdId, claim, charge, facts, memo, postings }: KeptEntry): PackedEntry {
  return JSON.stringify({
    at,
    holdId,
    claim,
    memo,
    charge: charge && packCharge(charge),
    facts,
    postings: postings.map(({ account, amount }) => ({ account, amount: String(amount) })),
  })
}

export function unpackEntry(packed: PackedEntry): KeptEntry {
  const { charge, postings, ...rest } = JSON.parse(packed) as Packed<KeptEntry>
  return {
    ...rest,
    ...(charge !== undefined && { charge: unpackCharge(charge) }),
    postings: postings.map(({ account, amount }) => ({ account, amount: BigInt(amount) })),
  }
}

/** How each of these strings stands in a packed entry that has it, so that most of those without it need no unpacking. */
export function packedStrings(strings: readonly (string | undefined)[]): readonly string[] {
  return strings.flatMap((text) => (text === undefined ? [] : JSON.stringify(text)))
}

/** The same shape with amounts as decimal strings. */
type Packed<T> = T extends Credits
  ? string
  : T extends object
    ? { readonly [Key in keyof T]: Packed<T[Key]> }
    : T

function packCharge(charge: Charge): Packed<Charge> {
  const { shortfall } = charge
  return {
    ...charge,
    cost: String(charge.cost),
    base: String(charge.base),
    markup: String(charge.markup),
    ...(shortfall !== undefined && { shortfall: String(shortfall) }),
  } as Packed<Charge>
}

function unpackCharge(charge: Packed<Charge>): Charge {
  const { shortfall } = charge
  return {
    ...charge,
    cost: BigInt(charge.cost),
    base: BigInt(charge.base),
    markup: BigInt(charge.markup),
    ...(shortfall !== undefined && { shortfall: BigInt(shortfall) }),
  } as Charge
}
