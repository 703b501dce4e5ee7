import { afterEach, expect, it, vi } from 'vitest'
import { createOrderedIdSource } from '../../src/base/ids.js'

afterEach(() => vi.useRealTimers())

it('ids of a history sort in order of creation, even within a millisecond and after the clock was set back', () => {
  vi.useFakeTimers({ now: 1_700_000_000_000 })
  const newId = createOrderedIdSource()
  const ids = Array.from({ length: 100 }, newId)
  vi.setSystemTime(1_600_000_000_000)
  ids.push(newId())
  vi.setSystemTime(1_800_000_000_000)
  ids.push(newId())
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true)
})
