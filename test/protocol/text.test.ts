import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanProviderMessage } from '../../src/protocol/provider-message.js'
import { cleanLabel, escapeControl, isPlainText, isWellFormed } from '../../src/protocol/text.js'
import { cpuMsOf } from '../helpers/cpu-time.js'

const KEY = 'sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv'

function clean(text: string, fields: Partial<Parameters<typeof cleanProviderMessage>[1]> = {}): string {
  return cleanProviderMessage(text, {
    secrets: [],
    upstreamModel: 'gpt-4o-mini-2024-07-18',
    modelKey: 'acme/fast',
    ...fields,
  })
}

/** Of any code units, including unpaired surrogates, control and invisible characters. */
function texts(maxLength: number): fc.Arbitrary<string> {
  const unit = fc.oneof(fc.nat(0xff), fc.integer({ min: 0x2000, max: 0x2070 }), fc.nat(0xffff))
  return fc.array(unit, { maxLength }).map((units) => String.fromCharCode(...units))
}

describe('a string for stores and events', () => {
  it('is distinguished from one that a store refuses', () => {
    expect(['a', 'é', '😀', ''].every(isPlainText)).toBe(true)
    expect(['\u0000', 'a\u001f', '\u007f', '\ud800', '\udc00a', 'a\ud800b'].some(isPlainText)).toBe(false)
    expect(isWellFormed('\u0000😀')).toBe(true)
    expect(isWellFormed('\ude00\ud83d')).toBe(false)
  })

  it('has control characters escaped', () => {
    expect(escapeControl('a\u0000b\n\u007f\ud800é😀')).toBe('a\\u0000b\\u000a\\u007f\ufffdé😀')
  })

  it('loses control, bidi and invisible characters if it is a label, and is cut between characters', () => {
    expect(cleanLabel('a\u0000\u202eb\u2066\u200b\u061c\ufeffc\ud800')).toBe('abc\ufffd')
    expect(cleanLabel('x'.repeat(300))).toHaveLength(256)
    expect(cleanLabel('abc😀', 4)).toBe('abc')
    expect(cleanLabel('ab😀', 4)).toBe('ab😀')
  })

  it('is plain whatever it was before', () => {
    fc.assert(
      fc.property(texts(600), fc.nat(300), (text, most) => {
        expect(isPlainText(escapeControl(text))).toBe(true)
        const label = cleanLabel(text, most)
        expect(isPlainText(label)).toBe(true)
        expect(label.length).toBeLessThanOrEqual(most)
        expect(cleanLabel(label, most)).toBe(label)
      }),
      { seed: 3, numRuns: 1_000 },
    )
  })
})

describe("a provider's message", () => {
  it.each([
    'Invalid value for max_completion_tokens: expected at most 16384, got 99999.',
    "Invalid type for 'messages.2.content.0.image_url': expected an object.",
    'response_format.json_schema.name must match ^[a-zA-Z0-9_-]+$',
    'tools.0.function.parameters is not a valid JSON Schema (line 3, column 10; 12:30:45).',
    'This model does not support the parameter `reasoning_effort`, e.g. with tools.',
  ])('without secrets stays unchanged: %s', (text) => {
    expect(clean(text)).toBe(text)
  })

  it.each([
    [`Incorrect API key: ${KEY}`, KEY],
    ['Incorrect API key provided: short1', 'short1'],
    ['x-api-key=hunter2', 'hunter2'],
    ['{"api_key": "hunter2"}', 'hunter2'],
    ['Authorization: Bearer abcdefgh', 'abcdefgh'],
    ['authorization: Basic dXNlcg', 'dXNlcg'],
    ['the token was eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc', 'eyJhbGciOiJIUzI1NiJ9'],
    ['key sk-***abcd is not valid', 'abcd'],
    ['AKIAIOSFODNN7EXAMPLE', 'AKIA'],
    ['organization org-aBcDeF0123456789abcdef', 'aBcDeF'],
    ['see https://internal.example.com/v1?key=abc for more', 'internal'],
    ['could not fetch file:///etc/passwd', 'passwd'],
    ['connect to vllm-7.prod.svc.cluster.local:8000 failed', 'prod'],
    ['connect to api.openai.com failed', 'openai'],
    ['connect to localhost:8080 failed', 'localhost'],
    ['upstream worker-3:50051 refused', 'worker'],
    ['connect ECONNREFUSED 10.0.0.12:8443', '10.0.0'],
    ['no route to fe80::1ff:fe23:4567:890a.', 'fe80'],
    ['listen on [::1]:80', '::1'],
    ['write to ops@example.com', 'ops'],
  ])('loses its secrets: %s', (text, gone) => {
    const message = clean(text)
    expect(message).not.toContain(gone)
    expect(message).toContain('[redacted]')
  })

  it('is dropped completely if it contains a secret in use, in any spelling', () => {
    const secret = 'plain "words" +/='
    const encoded = Buffer.from(secret).toString('base64')
    for (const spelling of [secret, encodeURIComponent(secret), JSON.stringify(secret), encoded]) {
      expect(clean(`You sent ${spelling}.`, { secrets: ['', secret] })).toBe('')
    }
    expect(clean('You sent nothing.', { secrets: ['', secret] })).toBe('You sent nothing.')
  })

  it.each(['none', 'EMPTY', 'x'])('keeps a placeholder key, which is not a secret: %s', (secret) => {
    const message = `The top_k ${secret} must be a number; ${secret} is none.`
    expect(clean(message, { secrets: [secret] })).toBe(message)
  })

  it('loses invisible characters that could spell something', () => {
    const tags = [...'sesame'].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('')
    expect(clean(`a${tags}\u{e0101}\ufe0f\u180e\u3164b`)).toBe('ab')
  })

  it('has the upstream name of the model replaced by its key', () => {
    expect(
      clean(
        'The model gpt-4o-mini-2024-07-18 (gpt-4o-mini-2024-07-18) is old; gpt-4o-mini-2024-07-189 is not.',
      ),
    ).toBe('The model acme/fast (acme/fast) is old; [redacted] is not.')
    const arn = 'arn:aws:bedrock:us-east-1:123456789012:model/meta.llama'
    expect(clean(`No access to '${arn}'.`, { upstreamModel: arn })).toBe("No access to 'acme/fast'.")
    expect(clean('x', { upstreamModel: '' })).toBe('x')
  })

  it('loses control and bidi characters, and everything after 500 characters', () => {
    expect(clean('a\u0000b\r\n\nc\u202ed')).toBe('a b cd')
    expect(clean('word '.repeat(300)).length).toBeLessThanOrEqual(500)
    expect(clean(`${'w'.repeat(499)}😀`)).toBe('w'.repeat(499))
  })

  it('never shows half of a secret that crosses the cut at 4 KiB', () => {
    const url = `https://a.b/${'x'.repeat(3_900)} `
    for (let pad = 4_096 - KEY.length; pad <= 4_096; pad += 1) {
      const text = url + '-'.repeat(pad - url.length - 1)
      const message = clean(`${text} ${KEY} and more`, { secrets: [KEY] })
      for (let length = 4; length <= KEY.length; length += 1)
        expect(message).not.toContain(KEY.slice(0, length))
    }
  })

  it('never shows a secret, a control character or the upstream name of the model, whatever surrounds them', () => {
    const piece = fc.oneof(
      texts(30),
      fc.constantFrom(
        KEY,
        'gpt-4o-mini-2024-07-18',
        'https://',
        '.',
        '10.0.0.1',
        ' ',
        '@',
        ':',
        '\\',
        '"',
        '=',
      ),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const message = clean(pieces.join(''), { secrets: [KEY] })
        expect(message).not.toContain(KEY)
        expect(isPlainText(message)).toBe(true)
        expect(message.length).toBeLessThanOrEqual(500)
        expect(message).not.toMatch(/(?<![A-Za-z0-9])gpt-4o-mini-2024-07-18(?![A-Za-z0-9])/)
      }),
      { seed: 4, numRuns: 2_000 },
    )
  })

  it('is cleaned quickly, however it is made', () => {
    const units = [
      ...['a', '1', '.', ':', 'a.', 'a:', '@', 'a@', '-', 'sk-', 'api key'],
      ...['https://', ' ', '1.', '0:', '\\', '*'],
    ]
    const cleanAll = () => {
      for (const unit of units) clean(unit.repeat(8_000_000 / unit.length))
    }
    expect(cpuMsOf(cleanAll, 3_000)).toBeLessThan(3_000)
  })
})
