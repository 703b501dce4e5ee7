import { expect, it } from 'vitest'
import { bucketOf } from '../../src/rules/bucket-of.js'
import type { Limit } from '../../src/stores.js'

const LIMIT: Limit = { id: 'team', unit: 'credits', amount: 5n, per: 'month', zone: 'Asia/Tokyo' }

it("a limit's bucket names the unit, the period and, for days, weeks and months, the time zone", () => {
  expect(bucketOf(LIMIT)).toBe('team:credits/month/Asia/Tokyo')
  expect(bucketOf({ ...LIMIT, unit: 'requests', per: 'minute' })).toBe('team:requests/minute')
})

it("a limit's bucket is the same for another amount, and for the default time zone", () => {
  expect(bucketOf({ ...LIMIT, amount: 6n, of: 'account' })).toBe(bucketOf(LIMIT))
  const { zone: _, ...unzoned } = LIMIT
  expect(bucketOf(unzoned)).toBe(bucketOf({ ...LIMIT, zone: 'UTC' }))
})

it("a limit's bucket differs for another id, owner, unit, period or time zone", () => {
  const others: readonly Partial<Limit>[] = [
    {},
    { id: 'team:credits/month/Asia/Tokyo' },
    { unit: 'tokens' },
    { per: 'day' },
    { per: 'week' },
    { per: 'total' },
    { zone: 'Asia/Seoul' },
    { of: 'account', ownerId: 'alice' },
    { of: 'app', ownerId: 'alice' },
    { of: 'account', ownerId: 'bob' },
  ]
  expect(new Set(others.map((other) => bucketOf({ ...LIMIT, ...other }))).size).toBe(others.length)
})
