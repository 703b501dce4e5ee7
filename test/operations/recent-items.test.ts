import { describe, expect, it } from 'vitest'
import { MemoryBudget } from '../../src/base/memory-budget.js'
import type { Principal } from '../../src/index.js'
import { RecentItems } from '../../src/operations/responses/recall/recent-items.js'
import { createSteppedClock } from '../helpers/stepped-clock.js'

const HOUR_MS = 3_600_000
const principal = (account: string): Principal => ({ kind: 'api-key', credentialId: 'c', account })
const message = (text: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
})

function open(maxBytes = 65_536, memory = new MemoryBudget(Infinity)) {
  const clock = createSteppedClock()
  const items = new RecentItems({ maxBytes, ttlMs: HOUR_MS }, clock, memory)
  return { clock, items, alice: items.of(principal('alice')), bob: items.of(principal('bob')) }
}

describe('the store of recent response items', () => {
  it('returns items unchanged, as the bytes of their JSON', () => {
    const { alice } = open()
    const item = message('wörld \u{1f600}')
    alice.keep('msg_1', () => item)
    expect(alice.find('msg_1')).toBe(Buffer.from(JSON.stringify(item)).toString('latin1'))
    alice.keep('msg_1', () => message('later'))
    expect(alice.find('msg_1')).toBe(JSON.stringify(message('later')))
  })

  it('skips values that are not items, that JSON cannot represent, or that are too large', () => {
    const { alice } = open(16 * 1_024 * 1_024)
    alice.keep('none', () => undefined)
    alice.keep('big', () => ({ type: 'message', content: 1n }))
    alice.keep('large', () => message('x'.repeat(1_024 * 1_024)))
    expect(['none', 'big', 'large'].map((id) => alice.find(id))).toEqual([undefined, undefined, undefined])
    const small = open()
    small.alice.keep('share', () => message('x'.repeat(20_000)))
    expect(small.alice.find('share')).toBeUndefined()
  })

  it('keeps the items of many accounts within its total size, least recently used first', () => {
    const { items } = open()
    const found = (account: string) => items.of(principal(account)).find('msg')
    for (const account of ['a', 'b', 'c', 'd', 'e', 'f']) {
      items.of(principal(account)).keep('msg', () => message('x'.repeat(13_000)))
      found('a')
    }
    expect(['a', 'b', 'c', 'd', 'e', 'f'].filter((account) => found(account) !== undefined)).toEqual([
      'a',
      'd',
      'e',
      'f',
    ])
  })

  it('can drop the items of one account again and again without losing its share', () => {
    const { alice, bob } = open()
    bob.keep('other', () => message('kept'))
    for (let index = 0; index < 1_000; index++) alice.keep(`msg_${index}`, () => message('x'.repeat(3_000)))
    const kept = Array.from({ length: 1_000 }, (_, index) => index).filter((index) =>
      alice.find(`msg_${index}`),
    )
    expect(kept).toEqual([996, 997, 998, 999])
    expect(bob.find('other')).toBeDefined()
  })

  it('frees items within a minute after they expire, and leaves no timer', async () => {
    const { alice, clock, items } = open()
    alice.keep('msg_1', () => message('a'))
    expect(clock.pending).toBe(1)
    await clock.elapse(HOUR_MS)
    expect(alice.find('msg_1')).toBeDefined()
    await clock.elapse(HOUR_MS + 60_000)
    expect(clock.pending).toBe(0)
    expect(alice.find('msg_1')).toBeUndefined()
    alice.keep('msg_2', () => message('b'))
    expect(clock.pending).toBe(1)
    items.clear()
    expect(clock.pending).toBe(0)
    expect(alice.find('msg_2')).toBeUndefined()
    alice.keep('msg_3', () => message('c'))
    expect(alice.find('msg_3')).toBeDefined()
  })
})
