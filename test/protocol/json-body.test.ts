import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CompatError, isCompatError } from '../../src/base/errors.js'
import { checkJsonValue, parseJsonBody } from '../../src/protocol/json-body.js'
import { programFile } from '../helpers/program.js'

const bytes = (text: string) => Buffer.from(text)
const parsed = (body: Uint8Array) => parseJsonBody(body).value

function refusal(run: () => unknown): CompatError {
  try {
    run()
  } catch (error) {
    if (isCompatError(error)) return error
    throw error
  }
  throw new Error('The body was accepted.')
}

/** An object with a nesting depth of `depth`, itself included. */
const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
/** An object with so many values, including itself, its array and its second member. */
const numbers = (values: number, pad = '') => `{"a":[${'1,'.repeat(values - 4)}1],"${pad}":1}`

describe('parseJsonBody', () => {
  it('reads everything that JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const text = JSON.stringify(value)
        const expected = JSON.parse(text)
        expect(JSON.stringify(parsed(bytes(text)))).toBe(JSON.stringify(checkJsonValue(expected)))
      }),
      { seed: 1, numRuns: 500 },
    )
  })

  it('accepts a byte order mark and a view into a larger buffer', () => {
    expect(parsed(bytes('\ufeff{"a":1}'))).toEqual({ a: 1 })
    expect(parsed(bytes('xx{"a":1}xx').subarray(2, 9))).toEqual({ a: 1 })
  })

  it('uses the last of duplicate keys', () => {
    expect(parsed(bytes('{"a":1,"a":2}'))).toEqual({ a: 2 })
  })

  it.each(['', ' ', '{', '{"a":1,}', "{'a':1}", '{"a":NaN}', '{} {}', '\u0000', '{"a":"\n"}', '{"a":"\\x"}'])(
    'refuses %j as invalid JSON',
    (text) => {
      expect(refusal(() => parsed(bytes(text)))).toMatchObject({ code: 'invalid_json', status: 400 })
    },
  )

  it('reports the position of a syntax error, without showing the text', () => {
    const error = refusal(() => parsed(bytes('{"secret":"sk-123" "b":1}')))
    expect(error.message).toMatch(/character 19/)
    expect(refusal(() => parsed(bytes('sk-123'))).message).not.toContain('sk-')
  })

  it.each([[[0xff]], [[0x7b, 0x22, 0xc3, 0x22, 0x7d]], [[0x22, 0xed, 0xa0, 0x80, 0x22]]])(
    'refuses the bytes %j as not UTF-8',
    (given) => {
      const error = refusal(() => parsed(Uint8Array.from(given)))
      expect(error).toMatchObject({ code: 'invalid_json', message: expect.stringContaining('UTF-8') })
    },
  )

  it.each(['[]', '"a"', '1', 'null', 'true', '[{}]'])('refuses %s as a request', (text) => {
    expect(refusal(() => parsed(bytes(text)))).toMatchObject({ code: 'invalid_request' })
  })

  it('accepts at most 128 levels', () => {
    for (const pad of ['', 'x'.repeat(500_000)]) {
      const text = (depth: number) => nested(depth).replace('}', `,"pad":"${pad}"}`)
      expect(parsed(bytes(text(128)))).toHaveProperty('a')
      expect(refusal(() => parsed(bytes(text(129))))).toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('128'),
      })
    }
  })

  it('ignores brackets inside strings', () => {
    for (const filler of ['[', '{"', '\\', '\\"[', '[\\\\']) {
      for (const times of [200, 200_000]) {
        const value = { a: filler.repeat(times), b: [filler] }
        expect(parsed(bytes(JSON.stringify(value)))).toEqual(value)
      }
    }
  })

  it('accepts at most 200,000 values', () => {
    for (const pad of ['', 'x'.repeat(100_000)]) {
      expect(parsed(bytes(numbers(200_000, pad)))).toHaveProperty('a')
      const error = refusal(() => parsed(bytes(numbers(200_001, pad))))
      expect(error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('200,000') })
    }
  })

  it('counts the same values as checkJsonValue', () => {
    const members = [{}, [], '', 'a:b,[{', 1.5e3, null, true, { a: { b: [1, '"'] } }, [[[]]]]
    const valuesOfRound = 15
    const rounds = Math.floor(199_998 / valuesOfRound)
    const list = Array.from({ length: rounds }, () => members).flat()
    const room = 200_000 - 2 - rounds * valuesOfRound
    const fits = { list: [...list, ...Array.from({ length: room }, () => 0)] }
    const over = { list: [...fits.list, 0] }
    expect(parsed(bytes(JSON.stringify(fits, null, 1)))).toEqual(checkJsonValue(fits))
    expect(refusal(() => parsed(bytes(JSON.stringify(over))))).toMatchObject({
      code: 'invalid_request',
    })
    expect(refusal(() => checkJsonValue(over))).toMatchObject({ code: 'invalid_request' })
  })

  it('drops an own __proto__ at every depth, however it is spelled', () => {
    for (const key of ['__proto__', '\\u005f_proto__', '_\\u005Fpr\\u006fto__', '__\\u0070roto_\\u005f']) {
      const value = parsed(bytes(`{"${key}":{"x":1},"a":[{"${key}":{"y":1},"b":"__proto__"}]}`))
      expect(Object.getOwnPropertyNames(value)).toEqual(['a'])
      const inner = (value.a as object[])[0]!
      expect(Object.getOwnPropertyNames(inner)).toEqual(['b'])
      expect(Object.getPrototypeOf(inner)).toBe(Object.prototype)
    }
  })

  it('throws nothing but a 400, whatever the bytes', () => {
    const fragments = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '\\u00',
      '1',
      'true',
      ' ',
      '\ud800',
      'é',
      '__proto__',
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 300 }),
          fc.array(fragments, { maxLength: 400 }).map((parts) => bytes(parts.join(''))),
          fc.json().map(bytes),
        ),
        (body) => {
          try {
            expect(typeof parsed(body)).toBe('object')
          } catch (error) {
            if (!isCompatError(error)) throw error
            expect(error.status).toBe(400)
          }
        },
      ),
      { seed: 2, numRuns: 2_000 },
    )
  })

  it('refuses every expensive body of 32 MiB within a second and 300 MB', async () => {
    const script = await programFile(new URL('hostile-bodies.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script])
    const results = stdout
      .trim()
      .split('\n')
      .map(
        (line) =>
          JSON.parse(line) as {
            name: string
            code: string
            parsed: boolean
            ms: number
            grownMiB: number
            bytes: number
          },
      )
    // Some are stopped by the count over the bytes, some only by the check of the request.
    expect(results.filter(({ parsed }) => parsed).map(({ name }) => name)).toEqual([
      'escaped quotes',
      'few values and bad parts',
      'one long string',
      'one long number in a schema',
      'two-byte letters',
    ])
    expect(results.length).toBeGreaterThan(10)
    for (const { name, code, ms, bytes: length } of results) {
      expect(length, name).toBeGreaterThan(31 * 1_024 * 1_024)
      expect(code, name).toMatch(/^invalid_(request|json)$/)
      expect(ms, name).toBeLessThan(1_000)
    }
    expect(results.reduce((sum, { grownMiB }) => sum + grownMiB, 0)).toBeLessThan(300)
  }, 120_000)
})

describe('checkJsonValue', () => {
  it('accepts a parsed body, and returns the same object', () => {
    const value = { a: [1, { b: null }] }
    expect(checkJsonValue(value)).toBe(value)
  })

  it.each([[null], [undefined], ['{}'], [[]], [5]])('refuses %j as a request', (value) => {
    expect(refusal(() => checkJsonValue(value))).toMatchObject({ code: 'invalid_request' })
  })

  it('enforces the same depth and number of values', () => {
    expect(checkJsonValue(JSON.parse(nested(128)))).toBeDefined()
    expect(refusal(() => checkJsonValue(JSON.parse(nested(129))))).toMatchObject({ code: 'invalid_request' })
    expect(checkJsonValue(JSON.parse(numbers(200_000)))).toBeDefined()
    expect(refusal(() => checkJsonValue(JSON.parse(numbers(200_001))))).toMatchObject({
      code: 'invalid_request',
    })
    expect(
      refusal(() => checkJsonValue(JSON.parse(`{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`))),
    ).toMatchObject({ message: expect.stringContaining('deeper') })
  })

  it('refuses a value that contains itself', () => {
    const value: Record<string, unknown> = {}
    value.self = [value]
    expect(refusal(() => checkJsonValue(value))).toMatchObject({ code: 'invalid_request' })
  })

  it('leaves a frozen body unchanged', () => {
    const value = Object.freeze(JSON.parse('{"__proto__":{},"a":1}'))
    expect(checkJsonValue(value)).toBe(value)
  })
})
