import { describe, expect, it } from 'vitest'
import { rateLimitHeaders, tighter } from '../../src/protocol/rate-limit-headers.js'

const figures = (left: bigint, resetMs: number) => ({ limit: 60n, left, resetMs })

describe('rate limit headers', () => {
  it.each([
    [0, '0ms'],
    [119.2, '120ms'],
    [1_000, '1s'],
    [8_001, '9s'],
    [360_000, '6m0s'],
    [3_600_000, '1h0m0s'],
    [31 * 86_400_000 - 1, '744h0m0s'],
  ])('write a reset in %d ms as OpenAI does: %s', (resetMs, text) => {
    expect(rateLimitHeaders(figures(57n, resetMs), undefined)).toEqual({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '57',
      'x-ratelimit-reset-requests': text,
    })
  })

  it('have no reset without an end, and never less than 0 left', () => {
    expect(rateLimitHeaders(undefined, figures(-5n, Infinity))).toEqual({
      'x-ratelimit-limit-tokens': '60',
      'x-ratelimit-remaining-tokens': '0',
    })
  })

  it('show the limit with less left or, if two are equal, the one that ends later', () => {
    const few = figures(3n, 1_000)
    const many = figures(4n, 9_000)
    const late = figures(3n, 2_000)
    expect(tighter(undefined, many)).toBe(many)
    expect([tighter(few, many), tighter(many, few)]).toEqual([few, few])
    expect([tighter(few, late), tighter(late, few)]).toEqual([late, late])
  })
})
