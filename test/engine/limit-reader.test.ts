import { expect, it } from 'vitest'
import { createLimitReader } from '../../src/engine/charging/caller-limits.js'
import type { Limit } from '../../src/stores.js'

const RATE: Limit = { id: 'rate', unit: 'requests', amount: 60n, per: 'minute' }
const BUDGET: Limit = { id: 'budget', unit: 'credits', amount: 5n, per: 'day', zone: 'Europe/Berlin' }

const frozen = (...limits: Limit[]): readonly Limit[] => Object.freeze(limits.map(Object.freeze) as Limit[])

it('the limit reader reads equal lists of limits once, and reads a changed list again', () => {
  const read = createLimitReader({ now: () => 1_700_000_000_000, after: () => () => {} })
  const list = frozen({ ...RATE }, { ...BUDGET })
  const known = read(list)
  expect(read(list)).toBe(known)
  expect(read(frozen({ ...RATE }, { ...BUDGET }))).toBe(known)
  expect(known.limits).toEqual([RATE, BUDGET])
  const open = [{ ...RATE }]
  expect(read(open).limits).toEqual([RATE])
  open[0] = { ...RATE, amount: 10n }
  expect(read(open).limits).toEqual([{ ...RATE, amount: 10n }])
  const openLimit = { ...RATE, amount: 20n }
  const half = Object.freeze([openLimit])
  read(half)
  openLimit.amount = 30n
  expect(read(half).forHold(1n, 1)[0]!.limit).toBe(30n)
  expect(() => read(frozen({ ...RATE, amount: -1n }))).toThrow(/amount/)
})
