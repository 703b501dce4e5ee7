import { expect, it } from 'vitest'
import type { Limit } from '../../src/index.js'
import { bucketOf } from '../../src/rules/bucket-of.js'

const LIMIT: Limit = { id: 'team', unit: 'credits', amount: 5n, per: 'month', zone: 'Asia/Tokyo' }

it('names the unit, the period and, for days and months, the zone', () => {
  expect(bucketOf(LIMIT)).toBe('team:credits/month/Asia/Tokyo')
  expect(bucketOf({ ...LIMIT, unit: 'requests', per: 'minute' })).toBe('team:requests/minute')
})

it('is the same for another amount and for the zone by default', () => {
  expect(bucketOf({ ...LIMIT, amount: 6n, of: 'account' })).toBe(bucketOf(LIMIT))
  const { zone: _, ...unzoned } = LIMIT
  expect(bucketOf(unzoned)).toBe(bucketOf({ ...LIMIT, zone: 'UTC' }))
})

it('is another one for another id, unit, period or zone', () => {
  const others: readonly Partial<Limit>[] = [
    {},
    { id: 'team:credits/month/Asia/Tokyo' },
    { unit: 'tokens' },
    { per: 'day' },
    { per: 'total' },
    { zone: 'Asia/Seoul' },
  ]
  expect(new Set(others.map((other) => bucketOf({ ...LIMIT, ...other }))).size).toBe(others.length)
})
