import { strict as assert } from 'node:assert'
import type { Charge, Entry, LedgerReader, LedgerStore, RequestEnd } from '../../src/contracts/index.js'
import { chargeText } from './audited-ledger.js'
import { decimal, nanos } from './decimals.js'

/** The outcome of one call, in every record of it. */
export interface CallRecord {
  readonly requestId: string
  /** All bytes of the client's reply. */
  readonly wire: string
  readonly end: RequestEnd
  readonly ledger: LedgerStore & LedgerReader
}

const CONTEXT = { requestId: 'assertion', signal: new AbortController().signal }
const MOST_ENTRIES = 1_000

/** The only ledger entry of a call, undefined if nothing was charged. Fails if there are two. */
export async function entryOf(ledger: LedgerReader, requestId: string): Promise<Entry | undefined> {
  const { entries } = await ledger.entries({ limit: MOST_ENTRIES }, CONTEXT)
  const found = entries.filter((entry) => entry.kind === 'charge' && entry.facts?.requestId === requestId)
  assert.ok(found.length <= 1, `${requestId} was charged ${found.length} times`)
  return found[0]
}

/**
 * Asserts that ledger, wire and event agree on one call to the last digit, and returns the charge as a
 * decimal. If the client did not get the end of its reply, its part is not compared.
 */
export async function assertOneCharge({ requestId, wire, end, ledger }: CallRecord): Promise<string> {
  const entry = await entryOf(ledger, requestId)
  const charge = entry?.charge
  assert.equal(end.requestId, requestId)
  assert.equal(end.charge && chargeText(end.charge), charge && chargeText(charge), 'event and ledger')
  if (charge !== undefined) assertConsistent(charge, entry!)
  const told = wireCharge(wire)
  if (told !== undefined) {
    const { cost, base, markup } = charge ?? { cost: 0n, base: 0n, markup: 0n }
    assert.deepEqual(told, { cost, base, markup }, 'wire and ledger')
  }
  return decimal(charge?.cost ?? 0n)
}

/**
 * The amounts that the client received, exactly as written in the text. Fails if there is more than one set.
 */
export function wireCharge(wire: string): { cost: bigint; base: bigint; markup: bigint } | undefined {
  const cost = amounts(wire, 'cost')
  if (cost.length === 0) return undefined
  const all = [cost, amounts(wire, 'base_cost'), amounts(wire, 'markup_cost')]
  assert.deepEqual(
    all.map(({ length }) => length),
    [1, 1, 1],
    'the client is told its cost once',
  )
  return { cost: cost[0]!, base: all[1]![0]!, markup: all[2]![0]! }
}

function amounts(wire: string, field: string): bigint[] {
  return [...wire.matchAll(new RegExp(`"${field}":([^,}]*)`, 'g'))].map(([, text]) => nanos(text!))
}

function assertConsistent(charge: Charge, entry: Entry): void {
  assert.equal(charge.base + charge.markup, charge.cost, 'base and markup make the cost')
  const total = entry.postings.reduce((sum, { amount }) => sum + amount, 0n)
  assert.equal(total, 0n, 'the postings add up to nothing')
  const payer = entry.facts?.account
  const own = entry.postings.filter(({ account, amount }) => account === payer && amount < 0n)
  assert.deepEqual(
    own.map(({ amount }) => amount),
    charge.cost === 0n ? [] : [-charge.cost],
    'the payer is debited the cost',
  )
}

/** Asserts that an account has its opening balance plus these changes, and nothing on hold. */
export async function assertBalance(ledger: LedgerStore, account: string, expected: string): Promise<void> {
  const { posted, held } = (await ledger.balance(account, CONTEXT)) ?? { posted: 0n, held: 0n }
  assert.deepEqual([decimal(posted), decimal(held)], [expected, '0'], `${account}: posted and held`)
}
