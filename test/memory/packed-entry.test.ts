import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CallFacts } from '../../src/contracts/index.js'
import {
  cellsOf,
  type KeptEntry,
  packCells,
  packedStrings,
  unpackEntry,
} from '../../src/memory/packed-entry.js'

const amount = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })
const name = fc.string({ minLength: 1, unit: 'binary' })
const count = fc.nat()
const postings = fc.array(
  fc.record(
    { account: name, amount: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }) },
    { noNullPrototype: true },
  ),
  { minLength: 1, maxLength: 3 },
)
const charge = fc.record(
  {
    cost: amount,
    base: amount,
    markup: amount,
    basis: fc.constantFrom('reported' as const, 'estimated' as const),
    byok: fc.boolean(),
    usage: fc.record(
      {
        prompt: count,
        cached: count,
        cacheWrite: count,
        completion: count,
        reasoning: count,
      },
      { noNullPrototype: true },
    ),
    priceVersion: name,
    shortfall: amount,
  },
  { requiredKeys: ['cost', 'base', 'markup', 'basis', 'byok', 'usage'], noNullPrototype: true },
)
const facts = fc.record(
  {
    requestId: name,
    account: name,
    credentialId: name,
    model: name,
    appId: name,
    claimedAppId: name,
    sessionId: name,
    user: name,
    provider: name,
    routeId: name,
    completionId: name,
  } satisfies Record<keyof CallFacts, unknown>,
  { requiredKeys: ['requestId', 'account', 'credentialId', 'model'], noNullPrototype: true },
)
const entry: fc.Arbitrary<KeptEntry> = fc.oneof(
  fc.record({ at: count, postings, memo: name }, { requiredKeys: ['at', 'postings'], noNullPrototype: true }),
  fc.record(
    { at: count, postings, holdId: name, claim: name, charge, facts },
    { requiredKeys: ['at', 'postings', 'holdId', 'charge', 'facts'], noNullPrototype: true },
  ),
)

describe('a packed entry', () => {
  it('has all that the entry had, to the last digit', () => {
    fc.assert(
      fc.property(entry, (kept) => {
        expect(unpackEntry(packCells(cellsOf(kept)))).toStrictEqual(kept)
      }),
      { seed: 20_261_122 },
    )
  })

  it.each([
    ['facts may hold texts, numbers and booleans alone', { user: 1n }, {}],
    ['facts may hold texts, numbers and booleans alone', { sessionId: {} }, {}],
    ['charge may hold texts, numbers and booleans alone', {}, { priceVersion: {} }],
    ['charge may hold texts, numbers and booleans alone', {}, { usage: { prompt: 1n } }],
  ])('is refused where it could not be packed later: %s', (message, wrongFacts, wrongCharge) => {
    const [kept] = fc.sample(fc.record({ at: count, postings, holdId: name, charge, facts }), {
      numRuns: 1,
      seed: 20_261_123,
    })
    const wrong = {
      ...kept!,
      facts: { ...kept!.facts, ...wrongFacts },
      charge: { ...kept!.charge, ...wrongCharge },
    }
    expect(() => cellsOf(wrong as unknown as KeptEntry)).toThrow(new TypeError(message))
  })

  it('holds every string of the entry as it is looked for', () => {
    fc.assert(
      fc.property(entry, (kept) => {
        const packed = packCells(cellsOf(kept))
        const strings = [kept.facts?.model, kept.facts?.appId, ...kept.postings.map(({ account }) => account)]
        for (const text of packedStrings(strings)) expect(packed).toContain(text)
      }),
      { seed: 20_261_122 },
    )
  })
})
