import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RecentMap } from '../../src/memory/recent-map.js'

describe('RecentMap', () => {
  it('keeps the latest keys and reports each forgotten one, whatever is added and deleted', () => {
    const step = fc.record({ kind: fc.constantFrom('add', 'add', 'delete'), pick: fc.nat(20) })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 40 }), (max, steps) => {
        const forgotten: string[] = []
        const map = new RecentMap<number>(max, (key, value) => forgotten.push(`${key}=${value}`))
        const added: { key: string; deleted: boolean }[] = []
        for (const { kind, pick } of steps) {
          if (kind === 'add') {
            added.push({ key: `k${added.length}`, deleted: false })
            map.add(`k${added.length - 1}`, added.length - 1)
            continue
          }
          const row = added[added.length - 1 - (pick % max)]
          if (row === undefined) continue
          map.delete(row.key)
          row.deleted = true
        }
        const oldest = Math.max(0, added.length - max)
        expect(added.map(({ key }) => map.get(key))).toEqual(
          added.map(({ deleted }, index) => (deleted || index < oldest ? undefined : index)),
        )
        const expected = added.slice(0, oldest).flatMap(({ key, deleted }, index) => {
          return deleted ? [] : [`${key}=${index}`]
        })
        expect(forgotten).toEqual(expected)
      }),
      { seed: 20_261_125 },
    )
  })
})
