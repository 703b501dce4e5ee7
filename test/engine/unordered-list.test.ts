import fc from 'fast-check'
import { expect, it } from 'vitest'
import { UnorderedList } from '../../src/base/unordered-list.js'

it('an unordered list contains the added items that were not removed, in any order', () => {
  const step = fc.record({ which: fc.integer({ min: 0, max: 5 }), isIn: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const list = new UnorderedList<{ slot: number; name: number }>()
      const items = Array.from({ length: 6 }, (_, name) => ({ name, slot: -1 }))
      const expected = new Set<object>()
      for (const { isIn, which } of steps) {
        const item = items[which]!
        if (isIn && !expected.has(item)) {
          list.add(item)
          expected.add(item)
        } else if (!isIn) {
          list.remove(item)
          expected.delete(item)
        }
        expect(new Set<object>(list.items)).toEqual(expected)
        expect(list.items).toHaveLength(expected.size)
      }
      for (const item of items) expect(list.items[item.slot]).toBe(expected.has(item) ? item : undefined)
    }),
  )
})
