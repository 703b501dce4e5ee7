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
    charge: charge && convertCharge(charge, String),
    facts,
    postings: convertPostings(postings, String),
  })
}

export function unpackEntry(packed: PackedEntry): KeptEntry {
  const { charge, postings, ...rest }: EntryAsText = JSON.parse(packed)
  return {
    ...rest,
    ...(charge !== undefined && { charge: convertCharge(charge, BigInt) }),
    postings: convertPostings(postings, BigInt),
  }
}

/** How each of these strings stands in a packed entry that has it, so that most of those without it need no unpacking. */
export function packedStrings(strings: readonly (string | undefined)[]): readonly string[] {
  return strings.flatMap((text) => (text === undefined ? [] : JSON.stringify(text)))
}

/** A charge, or a posting, whose amounts are of another type. */
type With<Amount, T> = { readonly [Key in keyof T]: T[Key] extends Credits | undefined ? Amount : T[Key] }

interface EntryAsText extends Omit<KeptEntry, 'charge' | 'postings'> {
  readonly charge?: With<string, Charge>
  readonly postings: readonly With<string, Posting>[]
}

function convertCharge<From, To>(
  charge: With<From, Charge>,
  convert: (amount: From) => To,
): With<To, Charge> {
  const { shortfall } = charge
  return {
    ...charge,
    cost: convert(charge.cost),
    base: convert(charge.base),
    markup: convert(charge.markup),
    shortfall: shortfall === undefined ? undefined : convert(shortfall),
  }
}

function convertPostings<From, To>(
  postings: readonly With<From, Posting>[],
  convert: (amount: From) => To,
): readonly With<To, Posting>[] {
  return postings.map(({ account, amount }) => ({ account, amount: convert(amount) }))
}
