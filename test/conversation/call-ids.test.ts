import { describe, expect, it } from 'vitest'
import { CallIds, callIdsFor, shortenedTo } from '../../src/conversation/call-ids.js'
import { cpuMsOf } from '../helpers/cpu-time.js'

const clean = (text: string) => shortenedTo(20, text.replace(/\W/g, '_'))

describe('the ids of calls', () => {
  it('are kept if an API takes them', () => {
    type Element = { readonly call?: string; readonly of?: string }
    const view = {
      callsOf: ({ call }: Element) => (call === undefined ? [] : [call]),
      resultOf: (element: Element) => element.of,
    }
    const idsFor = (...elements: readonly Element[]) => callIdsFor(elements, view, clean)
    expect(idsFor({ call: 'a' }, { call: 'b' }, { of: 'a' }, { of: 'b' })).toBeUndefined()
    expect(idsFor({ call: 'a' }, { call: 'a' })).toBeInstanceOf(CallIds)
    expect(idsFor({ call: 'a' }, { call: 'b.c' })).toBeInstanceOf(CallIds)
    expect(idsFor({ call: '' })).toBeInstanceOf(CallIds)
    expect(idsFor({ call: 'a' }, { of: '' })).toBeInstanceOf(CallIds)
  })

  it('occur once each, and results have those of their calls, in their order', () => {
    const ids = new CallIds(clean)
    const calls = ['a', 'a', 'b.c', 'b_c', 'a'].map((id) => ids.ofCall(id))
    expect(calls).toEqual(['a', 'a_2', 'b_c', 'b_c_2', 'a_3'])
    expect(['a', 'b_c', 'a', 'b.c', 'a', 'a'].map((id) => ids.ofResult(id))).toEqual([
      ...['a', 'b_c_2', 'a_2', 'b_c', 'a_3', 'a_3'],
    ])
    expect(ids.ofResult('of.nobody')).toBe('of_nobody')
    expect([ids.ofCall('a'), ids.ofResult('a'), ids.ofCall('a'), ids.ofResult('a')]).toEqual([
      ...['a_4', 'a_4', 'a_5', 'a_5'],
    ])
  })

  it('are made up for calls without one, and a result without one belongs to the next call', () => {
    const ids = new CallIds(clean)
    expect(['', ''].map((id) => ids.ofCall(id))).toEqual(['call', 'call_2'])
    expect(['', ''].map((id) => ids.ofResult(id))).toEqual(['call', 'call_2'])
    expect(['a', 'b'].map((id) => ids.ofCall(id))).toEqual(['a', 'b'])
    expect(['', 'b'].map((id) => ids.ofResult(id))).toEqual(['a', 'b'])
  })

  it('are the same for the beginning of a longer conversation, and no longer than the limit', () => {
    const given = ['call.0', 'x'.repeat(50), 'call.0', 'x'.repeat(50)]
    const idsOf = (list: readonly string[]) => {
      const ids = new CallIds(clean)
      return list.map((id) => ids.ofCall(id))
    }
    const all = idsOf(given)
    expect(idsOf(given.slice(0, 3))).toEqual(all.slice(0, 3))
    expect(new Set(all).size).toBe(4)
    expect(all.every((id) => id.length <= 20)).toBe(true)
  })

  it('take time in proportion to their number, even if all become one', () => {
    const addAll = () => {
      const cleaned = new CallIds((id) => id.replace(/[^\w-]/g, '_'))
      for (let count = 0; count < 20_000; count++) cleaned.ofCall(String.fromCodePoint(0x4e00 + count))
    }
    expect(cpuMsOf(addAll, 1_000)).toBeLessThan(1_000)
  })
})
