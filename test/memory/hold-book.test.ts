import { describe, expect, it } from 'vitest'
import type { CallFacts, Charge } from '../../src/contracts/index.js'
import { HoldBook, openHold } from '../../src/memory/hold-book.js'

const facts: CallFacts = { requestId: 'r', account: 'alice', credentialId: 'c', model: 'acme/fast' }
const usage = { prompt: 1, cached: 0, cacheWrite: 0, completion: 1, reasoning: 0 }
const charge: Charge = { cost: 1n, base: 1n, markup: 0n, basis: 'reported', byok: false, usage }

function holdOf(holdId: string, claim?: string, ttlMs = 1_000) {
  return openHold(
    { holdId, account: 'alice', amount: 5n, ttlMs, facts },
    { amount: 5n, claim, steps: undefined },
    0,
  )
}

describe('HoldBook', () => {
  it('remembers the latest settled holds, and frees the claim of each that it forgets', () => {
    const book = new HoldBook(2)
    for (const number of [1, 2, 3, 4]) book.settle(`h${number}`, { claim: `c${number}`, charge, position: 0 })
    expect(['h1', 'h2', 'h3', 'h4'].map((holdId) => book.settled(holdId)?.claim)).toEqual([
      undefined,
      undefined,
      'c3',
      'c4',
    ])
    expect(['c1', 'c2', 'c3', 'c4'].map((claim) => book.claimant(claim))).toEqual([
      undefined,
      undefined,
      'h3',
      'h4',
    ])
  })

  it('leaves a claim to the hold that has it when an earlier one is forgotten', () => {
    const book = new HoldBook(1)
    const first = holdOf('first', 'c')
    book.add(first)
    book.release(first)
    book.add(holdOf('second', 'c'))
    book.settle('other', { claim: undefined, charge, position: 0 })
    book.mark('another')
    expect(book.ended('first')).toBeUndefined()
    expect(book.claimant('c')).toBe('second')
  })

  it('remembers settled holds through any number of released ones, and vice versa', () => {
    const book = new HoldBook(2)
    book.mark('released')
    book.settle('settled', { claim: 'c', charge, position: 0 })
    for (let number = 0; number < 5; number++) {
      const hold = holdOf(`h${number}`)
      book.add(hold)
      book.release(hold)
    }
    expect(book.settled('settled')).toEqual({ claim: 'c', charge, position: 0 })
    expect(['released', 'h2', 'h3', 'h4'].map((holdId) => book.ended(holdId) !== undefined)).toEqual([
      false,
      false,
      true,
      true,
    ])
    for (let number = 0; number < 5; number++)
      book.settle(`s${number}`, { claim: undefined, charge, position: 0 })
    expect(book.ended('h4')).toEqual({ claim: undefined })
  })

  it('never forgets an open hold', () => {
    const book = new HoldBook(1)
    const open = holdOf('open', 'c', 1_000_000)
    book.add(open)
    for (let number = 0; number < 100; number++) {
      const hold = holdOf(`h${number}`)
      book.add(hold)
      book.release(hold)
      book.settle(`s${number}`, { claim: undefined, charge, position: 0 })
    }
    expect(book.open('open')).toBe(open)
    expect(book.claimant('c')).toBe('open')
  })

  it('returns each expired hold once, unless it was settled or forgotten before', () => {
    const book = new HoldBook(4)
    for (const number of [1, 2, 3, 4, 5]) book.add(holdOf(`h${number}`, undefined, number))
    const expired: string[] = []
    book.expire(5, ({ holdId }) => expired.push(holdId))
    expect(expired).toEqual(['h1', 'h2', 'h3', 'h4', 'h5'])
    book.settle('h3', { claim: undefined, charge, position: 0 })
    const take = (limit: number) => book.takeExpired(limit).map(({ holdId }) => holdId)
    expect(take(1)).toEqual(['h2'])
    expect(take(10)).toEqual(['h4', 'h5'])
    expect(take(10)).toEqual([])
  })
})
