import { describe, expect, it } from 'vitest'
import { MemoryBudget } from '../../src/base/memory-budget.js'
import { BodyBudget } from '../../src/hosts/body-budget.js'

const codeOf = (refusal: { code: string } | undefined) => refusal?.code ?? 'taken'

describe('the bytes of request bodies in flight', () => {
  it('leave three times as much to others as one account takes, and release everything', () => {
    const budget = new BodyBudget(1_000, new MemoryBudget(Infinity))
    const first = budget.open('alice')
    const second = budget.open('alice')
    expect([first.take(150), second.take(100)]).toEqual([undefined, undefined])
    expect(codeOf(second.take(1))).toBe('rate_limited')
    expect(() => budget.checkRoomFor(1, 'alice')).toThrow('of this account')
    const other = budget.open('bob')
    expect(codeOf(other.take(187))).toBe('taken')
    expect(codeOf(other.take(1))).toBe('rate_limited')
    for (const share of [first, second, other]) share.free()
    expect(codeOf(budget.open('carol').take(1_000))).toBe('taken')
  })

  it('of one account are never used up by other accounts, however many', () => {
    const budget = new BodyBudget(1_000_000, new MemoryBudget(Infinity))
    // Counted, so that its own body is not the only one.
    budget.open('first').take(1)
    for (let number = 0; number < 20; number++) {
      const share = budget.open(`attacker-${number}`)
      while (share.take(100) === undefined) {
        // As many bytes as it gets.
      }
    }
    expect(codeOf(budget.open('alice').take(100))).toBe('taken')
  })

  it('are available to a single body while there is no other, up to the limit', () => {
    const budget = new BodyBudget(1_000, new MemoryBudget(Infinity))
    const only = budget.open('alice')
    expect([only.take(600), only.take(400)]).toEqual([undefined, undefined])
    expect(codeOf(only.take(1))).toBe('overloaded')
    expect(codeOf(budget.open('bob').take(1))).toBe('overloaded')
    only.free()
    expect(() => budget.checkRoomFor(1_001, 'alice')).toThrow('Too many large requests are being read')
  })
})
