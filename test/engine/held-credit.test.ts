import { describe, expect, it } from 'vitest'
import type { CallFacts, HoldRequest, HoldResult } from '../../src/contracts/ledger.js'
import type { EngineParts } from '../../src/engine/call/parts.js'
import { HeldCredit, holdIdsOf } from '../../src/engine/charging/held-credit.js'
import { refusedHold } from '../../src/engine/failures/credit.js'
import { DEFAULTS } from '../../src/options.js'

/** The credit of one call, whose holds are answered by the test. */
function start(answer: HoldResult) {
  const asked: HoldRequest[] = []
  const parts = {
    options: { timeouts: DEFAULTS.timeouts, newId: () => `hold-${asked.length + 1}` },
    holds: { holder: undefined, isKept: () => true },
    ledger: {
      holdTaken: () => undefined,
      hold: (request: HoldRequest) => {
        asked.push(request)
        return answer
      },
    },
  } as unknown as EngineParts
  return { credit: new HeldCredit(parts, 'request-1', 'call-1', 'alice', undefined, undefined, false), asked }
}

const FACTS = {} as CallFacts
const needs = (hold: bigint) => ({ hold, inputTokens: 0, outputTokens: 0 })

describe('the hold of a call', () => {
  it('lasts longer than the call may', async () => {
    const { credit, asked } = start({ ok: true })
    await credit.secure(needs(5n), FACTS)
    const { settleMs, totalMs } = DEFAULTS.timeouts
    expect(asked[0]!.ttlMs).toBeGreaterThan(totalMs + settleMs)
  })

  it('is replaced only by a larger one', async () => {
    const { credit, asked } = start({ ok: true })
    for (const amount of [5n, 5n, 4n, 6n, 6n])
      expect(await credit.secure(needs(amount), FACTS)).toBeUndefined()
    expect(asked).toMatchObject([{ amount: 5n }, { amount: 6n, replaces: 'call-1' }])
    expect(asked.map(({ holdId }) => holdId)).toEqual(['call-1', 'call-1-2'])
    expect(holdIdsOf('call-1').slice(0, 3)).toEqual(['call-1', 'call-1-2', 'call-1-3'])
    expect([asked[0]!.replaces, credit.amount]).toEqual([undefined, 6n])
  })

  it.each([
    [4n, 'insufficient_credits'],
    [5n, 'credits_on_hold'],
  ])('of 5 is refused for an account with %s, none of it free, as %s', async (posted, code) => {
    const { credit } = start({ ok: false, reason: 'insufficient', posted, available: 0n })
    const refusal = await credit.secure(needs(5n), FACTS)
    expect(refusedHold(refusal!)).toMatchObject({ code })
    expect(credit.amount).toBe(0n)
  })
})
