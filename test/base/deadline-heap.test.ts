import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createDeadlineHeap } from '../../src/base/deadline-heap.js'

it('a deadline heap returns the earliest deadline first after any additions and removals', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ deadline: fc.nat(20), removeAt: fc.nat(30) })), (steps) => {
      const heap = createDeadlineHeap<{ deadline: number; slot: number }>()
      const inside: { deadline: number; slot: number }[] = []
      for (const { deadline, removeAt } of steps) {
        const item = { deadline, slot: -1 }
        heap.add(item)
        inside.push(item)
        const [removed] = inside.splice(removeAt, 1)
        if (removed !== undefined) {
          heap.remove(removed)
          heap.remove(removed)
        }
        expect(heap.first?.deadline).toBe(
          inside.length === 0 ? undefined : Math.min(...inside.map((each) => each.deadline)),
        )
      }
      const drained: number[] = []
      for (let first = heap.first; first !== undefined; first = heap.first) {
        drained.push(first.deadline)
        heap.remove(first)
      }
      expect(drained).toEqual(inside.map((each) => each.deadline).sort((one, other) => one - other))
    }),
    { seed: 20_261_121 },
  )
})
