import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NO_MARKUP, type Price, parsePrices } from '../../src/base/prices.js'
import { price } from '../../src/engine/charging/price.js'
import { clampUsage, type Usage } from '../../src/protocol/usage.js'

const RUNS = { seed: 20_261_125, numRuns: 1_500 }

const TEXT: Usage = { prompt: 0, cached: 0, cacheWrite: 0, completion: 0, reasoning: 0 }
/** Whole credits per token, so that the costs of these tests are small whole numbers. */
const each = (credits: number): string => String(credits * 1_000_000)

function costOf(usage: Partial<Usage>, prices: Price): number {
  const terms = { prices: parsePrices(prices), markup: NO_MARKUP }
  return Number(price(clampUsage({ ...TEXT, ...usage }), terms).cost / 1_000_000_000n)
}

const PRICES: Price = {
  input: each(10),
  cachedInput: each(1),
  cacheWrite: each(13),
  output: each(20),
  reasoning: each(15),
  audioInput: each(50),
  imageInput: each(12),
  audioOutput: each(90),
  imageOutput: each(40),
}

describe('audio and image tokens', () => {
  it.each<[string, Partial<Usage>, number]>([
    ['audio of the input', { prompt: 10, audioInput: 4 }, 4 * 50 + 6 * 10],
    ['images of the input', { prompt: 10, imageInput: 4 }, 4 * 12 + 6 * 10],
    ['both', { prompt: 10, audioInput: 4, imageInput: 3 }, 4 * 50 + 3 * 12 + 3 * 10],
    ['audio of the output', { completion: 10, audioOutput: 4 }, 4 * 90 + 6 * 20],
    ['images of the output', { completion: 10, imageOutput: 4 }, 4 * 40 + 6 * 20],
    ['beside reasoning', { completion: 10, audioOutput: 4, reasoning: 5 }, 4 * 90 + 5 * 15 + 20],
    ['more than there is input', { prompt: 5, audioInput: 9, imageInput: 2 }, 5 * 50],
    ['more than there is output', { completion: 5, audioOutput: 3, imageOutput: 9 }, 3 * 90 + 2 * 40],
    ['as much reasoning as output', { completion: 5, audioOutput: 3, reasoning: 5 }, 3 * 90 + 2 * 15],
    ['that may be cached', { prompt: 10, audioInput: 4, cached: 5 }, 4 * 50 + 5 * 10 + 1],
    ['that must be cached', { prompt: 10, audioInput: 4, cached: 10 }, 4 * 50 + 6],
    ['that may be written to the cache', { prompt: 10, imageInput: 4, cacheWrite: 5 }, 5 * 13 + 4 * 12 + 10],
    ['that must be written to the cache', { prompt: 5, imageInput: 4, cacheWrite: 5 }, 5 * 13],
  ])('cost their own prices: %s', (_, usage, expected) => {
    expect(costOf(usage, PRICES)).toBe(expected)
  })

  it('without prices of their own cost as much as text, as do cached and reasoning tokens', () => {
    const { audioInput: _, audioOutput: __, imageInput: ___, imageOutput: ____, ...text } = PRICES
    const usage = { prompt: 100, cached: 60, cacheWrite: 10, completion: 50, reasoning: 20 }
    const media = { audioInput: 90, imageInput: 10, audioOutput: 40, imageOutput: 10 }
    expect(costOf({ ...usage, ...media }, text)).toBe(costOf(usage, text))
  })

  it('may be free', () => {
    expect(costOf({ prompt: 10, audioInput: 4 }, { ...PRICES, audioInput: '0' })).toBe(60)
  })
})

const amount = fc.integer({ min: 0, max: 30 }).map(each)
const anyPrices = fc.record(
  {
    input: amount,
    output: amount,
    cachedInput: amount,
    cacheWrite: amount,
    reasoning: amount,
    audioInput: amount,
    audioOutput: amount,
    imageInput: amount,
    imageOutput: amount,
  },
  { requiredKeys: ['input', 'output'] },
)

/** Tokens of each kind, in the columns fresh, cached and written. */
type Prompt = Readonly<Record<'text' | 'audio' | 'image', readonly [number, number, number]>>

const cells = (max: number) =>
  fc.tuple(fc.nat({ max }), fc.nat({ max }), fc.nat({ max })) as fc.Arbitrary<[number, number, number]>
const prompts = (max: number): fc.Arbitrary<Prompt> =>
  fc.record({ text: cells(max), audio: cells(max), image: cells(max) })

/** The counts that a provider reports of such a prompt. */
function reportOf({ audio, image, text }: Prompt) {
  const column = (at: 0 | 1 | 2): number => text[at] + audio[at] + image[at]
  const row = (tokens: readonly number[]): number => tokens.reduce((sum, count) => sum + count, 0)
  return {
    prompt: column(0) + column(1) + column(2),
    cached: column(1),
    cacheWrite: column(2),
    audioInput: row(audio),
    imageInput: row(image),
  }
}

/** The most that a provider with these list prices can bill: of a token's own price and that of the cache, the higher one. */
function billOf(prompt: Prompt, list: Price): number {
  const read = (name: keyof Price, otherwise: number): number =>
    list[name] === undefined ? otherwise : Number(list[name]) / 1_000_000
  const input = read('input', 0)
  const cached = read('cachedInput', input)
  const written = read('cacheWrite', input)
  const text = [input, cached, written]
  const own = (name: 'audioInput' | 'imageInput'): number[] => {
    const listed = read(name, Number.NaN)
    return Number.isNaN(listed) ? text : [listed, Math.max(listed, cached), Math.max(listed, written)]
  }
  const bill = (tokens: readonly number[], prices: readonly number[]): number =>
    tokens.reduce((sum, count, at) => sum + count * prices[at]!, 0)
  return (
    bill(prompt.text, text) + bill(prompt.audio, own('audioInput')) + bill(prompt.image, own('imageInput'))
  )
}

/** Every prompt with the same report. */
function* promptsLike(prompt: Prompt): Generator<Prompt> {
  const { audioInput, cached, cacheWrite, imageInput, prompt: all } = reportOf(prompt)
  const fresh = all - cached - cacheWrite
  for (const audio of splits(audioInput)) {
    for (const image of splits(imageInput)) {
      const text = [
        fresh - audio[0] - image[0],
        cached - audio[1] - image[1],
        cacheWrite - audio[2] - image[2],
      ] as const
      if (text.every((count) => count >= 0)) yield { text, audio, image }
    }
  }
}

function* splits(total: number): Generator<readonly [number, number, number]> {
  for (let cached = 0; cached <= total; cached++) {
    for (let written = 0; cached + written <= total; written++) {
      yield [total - cached - written, cached, written]
    }
  }
}

describe('the charge for an input with media', () => {
  it("is never less than the provider's bill, whichever tokens it had cached", () => {
    fc.assert(
      fc.property(prompts(1_000), anyPrices, (prompt, list) => {
        expect(costOf(reportOf(prompt), list)).toBeGreaterThanOrEqual(billOf(prompt, list))
      }),
      RUNS,
    )
  })

  it("is the highest bill that the provider's report allows", () => {
    fc.assert(
      fc.property(prompts(3), anyPrices, (prompt, list) => {
        const bills = [...promptsLike(prompt)].map((like) => billOf(like, list))
        expect(costOf(reportOf(prompt), list)).toBe(Math.max(...bills))
      }),
      RUNS,
    )
  })
})

describe('the charge for an output with media', () => {
  it("is the provider's bill, with each token at the price of its kind", () => {
    const output = fc.record({
      text: fc.nat({ max: 1_000 }),
      reasoning: fc.nat({ max: 1_000 }),
      audio: fc.nat({ max: 1_000 }),
      image: fc.nat({ max: 1_000 }),
    })
    fc.assert(
      fc.property(output, anyPrices, ({ audio, image, reasoning, text }, list) => {
        const of = (name: keyof typeof list): number => Number(list[name] ?? list.output) / 1_000_000
        const bill =
          text * of('output') +
          reasoning * of('reasoning') +
          audio * of('audioOutput') +
          image * of('imageOutput')
        const completion = text + reasoning + audio + image
        expect(costOf({ completion, reasoning, audioOutput: audio, imageOutput: image }, list)).toBe(bill)
      }),
      RUNS,
    )
  })
})
