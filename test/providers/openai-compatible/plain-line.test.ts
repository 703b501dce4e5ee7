import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPlainLine } from '../../../src/providers/openai-compatible/plain-line.js'

describe('isPlainLine', () => {
  it('accepts ordinary lines', () => {
    for (const line of [
      '{"choices":[{"delta":{"content":"Hello"}}],"usage":null}',
      '{"choices":[{"delta":{"content":"Hello"}}],"usage": null,"error" : null}',
      '{"choices":[{"delta":{"content":"the \\"usage\\": {} of an \\"error\\""}}]}',
      '{"choices":[{"delta":{"content":"a\\u003cb \\u00e9"}}]}',
      '{"choices":[],"token_usage":1}',
    ]) {
      expect(isPlainLine(line), line).toBe(true)
    }
  })

  it('rejects everything that may be usage or a failure', () => {
    for (const line of [
      '{"detail":"Overloaded"}',
      '{"choices":[],"usage":{"prompt_tokens":1}}',
      '{"choices":[],"usage":  null}',
      '{"choices":[],"usage"\t:{}}',
      '{"usage":null,"usage":{}}',
      '{"x_groq":{"usage":{}}}',
      '{"error":{"message":"x"}}',
      '{"error":"x"}',
      '{"object":"error"}',
      '{"\\u0075sage":{}}',
      '{"usag\\u0065":{}}',
      '{"\\u0065rror":{}}',
      'not json',
      '[1]',
      '',
      `{"content":"${'x'.repeat(5_000)}"}`,
    ]) {
      expect(isPlainLine(line), line.slice(0, 40)).toBe(false)
    }
  })

  it('never accepts a line with usage or an error, however it is written', () => {
    const key = fc
      .constantFrom('usage', 'error')
      .chain((name) =>
        fc
          .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
          .map((escaped) =>
            [...name]
              .map((letter, index) =>
                escaped[index] ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}` : letter,
              )
              .join(''),
          ),
      )
    const space = fc.constantFrom('', ' ', '  ', '\t', ' \n')
    fc.assert(
      fc.property(
        key,
        space,
        space,
        fc.constantFrom('{"prompt_tokens":1}', '"x"', '1', '[]', '{}'),
        fc.json(),
        (name, before, after, value, other) => {
          const line = `{"a":${other},"${name}"${before}:${after}${value}}`
          JSON.parse(line)
          expect(isPlainLine(line)).toBe(false)
        },
      ),
      { seed: 20_260_102, numRuns: 3_000 },
    )
  })
})
