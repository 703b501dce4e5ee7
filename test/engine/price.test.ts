import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { creditsToNumber, formatCredits, parseCredits, roundUpToWire } from '../../src/base/money.js'
import { NO_MARKUP, type Prices, parseMarkup, parsePrices } from '../../src/base/prices.js'
import { dearestCost, price } from '../../src/engine/charging/price.js'
import { clampUsage, type Usage } from '../../src/protocol/usage.js'

const RUNS = { seed: 20_261_122, numRuns: 2_000 }

const decimal = (max: number) =>
  fc.tuple(fc.integer({ min: 0, max }), fc.integer({ min: 0, max: 999_999_999 })).map(([whole, nano]) => {
    const fraction = String(nano).padStart(9, '0').replace(/0+$/, '')
    return fraction === '' ? String(whole) : `${whole}.${fraction}`
  })

const row = fc.record(
  {
    input: decimal(200),
    output: decimal(600),
    cachedInput: decimal(200),
    cacheWrite: decimal(200),
    reasoning: decimal(600),
    audioInput: decimal(200),
    audioOutput: decimal(600),
    imageInput: decimal(200),
    imageOutput: decimal(600),
    request: decimal(3),
  },
  { requiredKeys: ['input', 'output'] },
)

const prices: fc.Arbitrary<Prices> = fc
  .tuple(row, fc.array(fc.tuple(row, fc.integer({ min: 0, max: 400_000 })), { maxLength: 3 }))
  .map(([base, tiers]) => ({ ...base, tiers: tiers.map(([tier, above]) => ({ ...tier, above })) }))

const count = (max = 1_000_000) => fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max }))

const usage: fc.Arbitrary<Usage> = fc
  .record({
    prompt: count(),
    cached: count(),
    cacheWrite: count(),
    completion: count(),
    reasoning: count(),
    audioInput: count(),
    audioOutput: count(),
    imageInput: count(),
    imageOutput: count(),
  })
  .map(clampUsage)

const markup = fc
  .record({ basisPoints: fc.integer({ min: 0, max: 1_000_000 }), flat: decimal(2) })
  .map(parseMarkup)

const terms = fc.record({ prices: prices.map((given) => parsePrices(given)), markup })

describe('a price', () => {
  it('adds up: base and markup are the cost, to the last decimal place', () => {
    fc.assert(
      fc.property(usage, terms, (tokens, agreed) => {
        const { base, cost, markup: added } = price(tokens, agreed)
        expect(base + added).toBe(cost)
        expect(added).toBeGreaterThanOrEqual(0n)
        expect(base).toBeGreaterThanOrEqual(0n)
      }),
      RUNS,
    )
  })

  it('is the same decimal on the wire as in the ledger', () => {
    fc.assert(
      fc.property(usage, terms, (tokens, agreed) => {
        for (const amount of Object.values(price(tokens, agreed))) {
          const text = JSON.stringify(creditsToNumber(amount))
          expect(decimalOf(text)).toBe(formatCredits(amount))
        }
      }),
      RUNS,
    )
  })

  it('never falls if any count rises within a tier', () => {
    fc.assert(
      fc.property(usage, row, markup, fc.integer({ min: 1, max: 5_000 }), (tokens, given, added, more) => {
        const agreed = { prices: parsePrices(given), markup: added }
        const { cost } = price(tokens, agreed)
        expect(price({ ...tokens, prompt: tokens.prompt + more }, agreed).cost).toBeGreaterThanOrEqual(cost)
        expect(
          price({ ...tokens, completion: tokens.completion + more }, agreed).cost,
        ).toBeGreaterThanOrEqual(cost)
      }),
      RUNS,
    )
  })

  it("is covered by the hold if the tokens stay within the hold's estimate", () => {
    fc.assert(
      fc.property(usage, terms, count(), count(), (tokens, agreed, sparePrompt, spareOutput) => {
        const promptEstimate = tokens.prompt + sparePrompt
        // A tier above twice the estimate is out of the hold's reach by design. Within the estimate none is.
        const hold = dearestCost(promptEstimate, tokens.completion + spareOutput, true, agreed)
        expect(hold).toBeGreaterThanOrEqual(price(tokens, agreed).cost)
      }),
      RUNS,
    )
  })

  it('is covered by a hold for text if the prompt is text', () => {
    const text = usage.map(({ audioInput: _, imageInput: __, ...others }) => others)
    fc.assert(
      fc.property(text, terms, (tokens, agreed) => {
        const hold = dearestCost(tokens.prompt, tokens.completion, false, agreed)
        expect(hold).toBeGreaterThanOrEqual(price(tokens, agreed).cost)
      }),
      RUNS,
    )
  })

  it('of an API key, which has no markup, equals that of a zero markup', () => {
    const fee = fc.record({
      flat: fc.bigInt({ min: 0n, max: 10n ** 18n }),
      basisPoints: fc.bigInt({ min: 0n, max: 20_000n }),
    })
    const tables = prices.map((given) => parsePrices(given))
    fc.assert(
      fc.property(usage, tables, fc.option(fee, { nil: undefined }), (tokens, table, byokFee) => {
        const agreed = { prices: table, ...(byokFee && { byokFee }) }
        expect(price(tokens, { ...agreed, markup: NO_MARKUP })).toEqual(
          price(tokens, { ...agreed, markup: { ...NO_MARKUP } }),
        )
      }),
      RUNS,
    )
  })

  it('uses the prices of one tier for the whole call', () => {
    const table = parsePrices({ input: '1', output: '2', tiers: [{ above: 100, input: '10', output: '20' }] })
    const none = { basisPoints: 0n, flat: 0n }
    const tokens = { prompt: 100, cached: 0, cacheWrite: 0, completion: 10, reasoning: 0 }
    expect(price(tokens, { prices: table, markup: none }).cost).toBe(120_000n)
    expect(price({ ...tokens, prompt: 101 }, { prices: table, markup: none }).cost).toBe(1_210_000n)
  })

  it('rounds up once, and only at the end', () => {
    const table = parsePrices({ input: '0.000000001', output: '0' })
    const tokens = { prompt: 1, cached: 0, cacheWrite: 0, completion: 0, reasoning: 0 }
    expect(price(tokens, { prices: table, markup: parseMarkup({ basisPoints: 2_000 }) })).toEqual({
      cost: 1n,
      base: 1n,
      markup: 0n,
    })
  })

  it("charges a caller's own key by the fee, with the markup on it", () => {
    const table = parsePrices({ input: '10', output: '10' })
    const tokens = { prompt: 50_000, cached: 0, cacheWrite: 0, completion: 50_000, reasoning: 0 }
    const byokFee = { flat: parseCredits('0.01'), basisPoints: 500n }
    const priced = price(tokens, { prices: table, markup: parseMarkup({ basisPoints: 1_000 }), byokFee })
    expect(priced).toEqual({ cost: 66_000_000n, base: 60_000_000n, markup: 6_000_000n })
  })
})

describe('an amount on the wire', () => {
  it('keeps 15 digits above a million credits, rounded up before it is charged', () => {
    expect(roundUpToWire(1_000_000_000_000_001n)).toBe(1_000_000_000_000_010n)
    expect(roundUpToWire(999_999_999_999_999n)).toBe(999_999_999_999_999n)
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 24n }), (amount) => {
        const rounded = roundUpToWire(amount)
        expect(rounded).toBeGreaterThanOrEqual(amount)
        expect(decimalOf(JSON.stringify(creditsToNumber(rounded)))).toBe(formatCredits(rounded))
      }),
      RUNS,
    )
  })
})

describe('cost, base and markup on the wire', () => {
  it('are exact and add up, however large the markup makes the cost', () => {
    const usage = { prompt: 7, cached: 0, cacheWrite: 0, completion: 12, reasoning: 0 }
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 20n }),
        fc.integer({ min: 0, max: 1_000_000 }),
        (input, points) => {
          const prices = parsePrices({ input: formatCredits(input), output: '40000000000' })
          const charge = price(usage, { prices, markup: parseMarkup({ basisPoints: points }) })
          expect(charge.base + charge.markup).toBe(charge.cost)
          for (const amount of [charge.cost, charge.base, charge.markup]) {
            expect(decimalOf(JSON.stringify(creditsToNumber(amount)))).toBe(formatCredits(amount))
          }
        },
      ),
      RUNS,
    )
  })
})

describe('a markup', () => {
  it.each([-1, 0.5, 1_000_001, Number.NaN, '5' as unknown as number])(
    'of %s basis points is refused',
    (basisPoints) => {
      expect(() => parseMarkup({ basisPoints })).toThrow(/basisPoints/)
    },
  )

  it('with a flat part that is not a decimal is refused by name', () => {
    expect(() => parseMarkup({ basisPoints: 0, flat: '-1' })).toThrow(/markup\.flat/)
  })
})

/** The plain decimal of a JSON number, without an exponent. */
function decimalOf(json: string): string {
  const match = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(json)
  if (match === null) throw new Error(`not a number: ${json}`)
  const [, whole = '', fraction = '', exponent = '0'] = match
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  const padded = digits.padStart(digits.length + Math.max(0, 1 - point), '0').padEnd(Math.max(point, 0), '0')
  const at = Math.max(point, 1)
  const left = padded.slice(0, at).replace(/^0+(?=\d)/, '')
  const right = (point < 1 ? '0'.repeat(-point) + digits : padded.slice(at)).replace(/0+$/, '')
  return right === '' ? left : `${point < 1 ? '0' : left}.${right}`
}
