import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inexactNumber, parseExactly, plainDecimal } from '../../../src/console/ui/playground/exact-json.js'
import { decimal, nanos } from '../../helpers/decimals.js'

describe('parseExactly', () => {
  it('keeps each digit of a number, and does not change digits in a string', () => {
    expect(
      parseExactly(
        '{"cost":0.100000001,"text":"\\"cost\\":1 \\\\","big":-12345678901234567890.5e-3,"no":null}',
      ),
    ).toEqual({
      cost: '0.100000001',
      text: '"cost":1 \\',
      big: '-12345678901234567890.5e-3',
      no: null,
    })
  })

  it('reads any JSON like JSON.parse, except for the numbers', () => {
    const withTexts = (value: unknown): unknown => {
      if (typeof value === 'number') return JSON.stringify(value)
      if (Array.isArray(value)) return value.map(withTexts)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withTexts(item)]))
    }
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(parseExactly(json)).toEqual(withTexts(JSON.parse(json)))
      }),
      { seed: 20_261_122 },
    )
  })
})

describe('plainDecimal', () => {
  it('writes a number without its exponent', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), (amount) => {
        const text = String(Number(amount) / 1e9)
        fc.pre(/e/.test(text))
        expect(plainDecimal(text)).toBe(decimal(nanos(text)))
      }),
      { seed: 20_261_122 },
    )
    expect(plainDecimal('1.5e-7')).toBe('0.00000015')
    expect(plainDecimal('-2.5E+3')).toBe('-2500')
    expect(plainDecimal('12e-1')).toBe('1.2')
    expect(plainDecimal('0.25')).toBe('0.25')
  })
})

describe('inexactNumber', () => {
  it.each([
    '12345678901234567890',
    '0.1000000000000000055',
    '1e400',
    '-1e-400',
    '1e999999999',
    '9007199254740993',
  ])('finds %s', (text) => {
    expect(inexactNumber(`{"kept":[1.50,"99999999999999999999"],"seed":${text}}`)).toBe(text)
  })

  it.each(['0', '-0', '0.0e7', '7', '0.10', '1.5e-7', '150e-2', '1E+23', '9007199254740992'])(
    'accepts %s',
    (text) => {
      expect(inexactNumber(`[${text}]`)).toBeUndefined()
    },
  )

  it('accepts every number that a program wrote', () => {
    fc.assert(
      fc.property(fc.json(), (json) => inexactNumber(json) === undefined),
      { seed: 20_261_122 },
    )
  })
})
