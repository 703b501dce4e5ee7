import { describe, expect, it } from 'vitest'
import { type LimitReached, refusedHold } from '../../src/engine/failures/credit.js'
import { errorReply } from '../../src/protocol/error-body.js'
import type { Limit } from '../../src/stores.js'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

function refuse(limit: Partial<Limit>, more: Partial<LimitReached> = {}) {
  const error = refusedHold(
    {
      reason: 'limited',
      bucket: 'b',
      amount: 2_000_000_000n,
      left: 500_000_000n,
      resetMs: 12 * DAY_MS - 1,
      onlyHeld: false,
      isGrant: false,
      isHidden: false,
      limit: { id: 'l', unit: 'credits', amount: 20_000_000_000n, per: 'month', ...limit },
      ...more,
    },
    { fitting: 'max_tokens: 43', creditHelp: 'Top up at https://acme.example/credits.' },
  )
  const { headers, status } = errorReply(error)
  return { code: error.code, message: error.message, status, headers }
}

describe('a call that a limit refuses', () => {
  it('is told its own budget, the time at which it starts again, and the remedy', () => {
    const { headers, ...told } = refuse({})
    expect(told).toEqual({
      status: 402,
      code: 'budget_exceeded',
      message:
        'This request needs 2 credits on hold; the monthly budget of this key has 0.5 of 20 credits left. ' +
        'It starts again in 12 days. It would fit with max_tokens: 43. Top up at https://acme.example/credits.',
    })
    expect(headers).toMatchObject({ 'x-should-retry': 'false' })
    expect(headers).not.toHaveProperty('retry-after')
  })

  it('is told if a budget is too small for the call even when unused', () => {
    expect(refuse({ amount: 1_000_000_000n, per: 'minute' }, { resetMs: 1 })).toMatchObject({
      headers: { 'x-should-retry': 'false' },
      message: expect.stringMatching(
        /^This request needs 2 credits on hold; the per-minute budget of this key is 1 credits\. It would/,
      ),
    })
  })

  it.each([
    [{ of: 'account' }, 'the monthly budget of this account does not cover it.'],
    [{ of: 'app' }, 'the monthly budget of this app does not cover it.'],
    [{ of: 'account', per: 'week' }, 'the weekly budget of this account does not cover it.'],
    [{ of: 'app', per: 'total' }, 'the total budget of this app does not cover it. It would fit'],
  ] as const)("is told no figures of somebody else's budget: %o", (limit, words) => {
    const { message } = refuse(limit)
    expect(message).toContain(words)
    expect(message).not.toMatch(/0\.5|20/)
  })

  it('is told the budget that the user gave the app', () => {
    expect(refuse({}, { isGrant: true }).message).toContain(
      'the monthly budget of your grant to this app has',
    )
  })

  it('may retry soon if only calls in flight use up the limit', () => {
    for (const unit of ['credits', 'tokens'] as const) {
      const { headers, ...told } = refuse({ unit }, { onlyHeld: true })
      expect(told).toMatchObject({ status: 429, code: 'budget_on_hold' })
      expect(told.message).toMatch(/ left while other calls are running\. Try again shortly\.$/)
      expect(headers).toMatchObject({ 'retry-after': '5', 'x-should-retry': 'true' })
    }
    expect(refuse({ of: 'app' }, { onlyHeld: true }).message).toMatch(
      /; the monthly budget of this app does not cover it while other calls are running\. Try/,
    )
  })

  it("waits until the end of a rate's period, and a client library waits only if that is within a minute", () => {
    const rate = { unit: 'requests', amount: 60n, per: 'minute' } as const
    const soon = refuse(rate, { amount: 1n, left: 0n, resetMs: 33_001 })
    expect(soon).toMatchObject({
      status: 429,
      code: 'rate_limited',
      message:
        'This request is one too many; the per-minute request limit of this key has 0 of 60 requests left. ' +
        'It starts again in 34 seconds.',
      headers: {
        'retry-after': '34',
        'x-should-retry': 'true',
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '34s',
      },
    })
    const late = refuse({ ...rate, per: 'hour' }, { amount: 1n, left: 0n, resetMs: MINUTE_MS + 1 })
    expect(late.headers).toMatchObject({ 'retry-after': '61', 'x-should-retry': 'false' })
    expect(late.message).toMatch(/ starts again in 61 seconds\.$/)
    const month = refuse({ ...rate, per: 'month' }, { amount: 1n, left: 0n, resetMs: 31 * DAY_MS })
    expect(month.headers).toMatchObject({ 'retry-after': '2678400', 'x-should-retry': 'false' })
  })

  it('does not wait for tokens that no period ever has', () => {
    const { headers, message } = refuse(
      { unit: 'tokens', amount: 1_000n, per: 'minute' },
      { amount: 5_000n, left: 900n, resetMs: 1_000 },
    )
    expect(message).toBe(
      'This request may use 5,000 tokens; the per-minute token limit of this key is 1,000 tokens.',
    )
    expect(headers).toMatchObject({
      'retry-after': '1',
      'x-should-retry': 'false',
      'x-ratelimit-remaining-tokens': '900',
    })
  })

  it('is final at a limit in total, whatever its unit', () => {
    expect(
      refuse({ unit: 'requests', amount: 1n, per: 'total' }, { amount: 1n, left: 0n, resetMs: Infinity }),
    ).toMatchObject({
      status: 402,
      code: 'budget_exceeded',
      message: expect.stringMatching(/; the total request limit of this key has 0 of 1 request left\. It/),
    })
  })

  it('shows no figures of an account or an app in headers', () => {
    const { headers } = refuse({ unit: 'requests', amount: 60n, per: 'minute', of: 'account' })
    expect(Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
  })
})
