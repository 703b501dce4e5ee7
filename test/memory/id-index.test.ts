import { expect, it } from 'vitest'
import { createIdIndex } from '../../src/memory/id-index.js'

/** FNV-1a of these two is the same. */
const COLLIDING = ['costarring', 'liquid'] as const

it('finds each id at its position while it grows, and no other', () => {
  const ids: string[] = []
  const index = createIdIndex(() => 0)
  const find = (id: string) => index.find(id, (position) => ids[position] === id)
  for (let position = 0; position < 20_000; position++) {
    ids.push(`hold-${position}`)
    index.add(ids[position]!, position)
    const earlier = (position * 7_919) % ids.length
    expect(find(ids[earlier]!)).toBe(earlier)
  }
  for (const [position, id] of ids.entries()) expect(find(id)).toBe(position)
  for (let other = 20_000; other < 40_000; other++) expect(find(`hold-${other}`)).toBeUndefined()
})

it('asks which of two ids with one hash it is', () => {
  const index = createIdIndex(() => 0)
  for (const [position, id] of COLLIDING.entries()) index.add(id, position)
  const asked: number[] = []
  const found = index.find(COLLIDING[1], (position) => {
    asked.push(position)
    return COLLIDING[position] === COLLIDING[1]
  })
  expect(found).toBe(1)
  expect(asked).toEqual([0, 1])
})

it('forgets what is older than the oldest', () => {
  let oldest = 0
  const index = createIdIndex(() => oldest)
  const ids: string[] = []
  const find = (id: string) => index.find(id, (position) => ids[position] === id)
  for (let position = 0; position < 50_000; position++) {
    ids.push(`hold-${position}`)
    index.add(ids[position]!, position)
    // First many are kept, then few.
    oldest = Math.max(0, position - (position < 20_000 ? 15_000 : 100))
    expect(find(ids[oldest]!)).toBe(oldest)
  }
  expect(find('hold-49000')).toBeUndefined()
  expect(find(`hold-${oldest}`)).toBe(oldest)
  expect(find('hold-49999')).toBe(49_999)
})
