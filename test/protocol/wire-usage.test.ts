import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatCredits } from '../../src/base/money.js'
import { type WireCharge, wireUsage, writeUsage } from '../../src/protocol/wire-usage.js'

const count = fc.nat({ max: 2_000_000_000 })
const amount = fc.bigInt({ min: 0n, max: 10n ** 15n })

describe('the usage of a reply', () => {
  it('is JSON of the counts and of each exact decimal amount, whatever the values', () => {
    const charges = fc.record({
      usage: fc.record(
        {
          prompt: count,
          cached: count,
          cacheWrite: count,
          completion: count,
          reasoning: count,
          audioInput: count,
          audioOutput: count,
          imageInput: count,
          imageOutput: count,
        },
        { requiredKeys: ['prompt', 'cached', 'cacheWrite', 'completion', 'reasoning'] },
      ),
      cost: amount,
      base: amount,
      markup: amount,
      basis: fc.constantFrom('reported' as const, 'estimated' as const),
      byok: fc.boolean(),
    })
    const holds = ({ usage, ...charge }: WireCharge): void => {
      const written = writeUsage({ usage, ...charge })
      expect(JSON.parse(written)).toStrictEqual({
        prompt_tokens: usage.prompt,
        completion_tokens: usage.completion,
        total_tokens: usage.prompt + usage.completion,
        prompt_tokens_details: {
          cached_tokens: usage.cached,
          ...(usage.audioInput !== undefined && { audio_tokens: usage.audioInput }),
          ...(usage.imageInput !== undefined && { image_tokens: usage.imageInput }),
        },
        completion_tokens_details: {
          reasoning_tokens: usage.reasoning,
          ...(usage.audioOutput !== undefined && { audio_tokens: usage.audioOutput }),
          ...(usage.imageOutput !== undefined && { image_tokens: usage.imageOutput }),
        },
        cost: Number(formatCredits(charge.cost)),
        is_byok: charge.byok,
        charge: {
          basis: charge.basis,
          base_cost: Number(formatCredits(charge.base)),
          markup_cost: Number(formatCredits(charge.markup)),
        },
      })
      expect(JSON.stringify(wireUsage({ usage, ...charge }))).toBe(written)
    }
    fc.assert(fc.property(charges, holds), { numRuns: 1_000 })
  })
})
