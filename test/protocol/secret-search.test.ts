import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holdsSecret, isSecret } from '../../src/protocol/secret-search.js'
import { cpuMsOf } from '../helpers/cpu-time.js'

const KEY = 'sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv'

const hexOf = (character: string): string => character.codePointAt(0)!.toString(16)
const each = (write: (character: string) => string) => (text: string) => [...text].map(write).join('')
const percent = (text: string): string => Buffer.from(text).toString('hex').replace(/../g, '%$&')
const shifted = (by: (character: string) => number) => (text: string) =>
  [...text]
    .map((character) => (/[\x21-\x7e]/.test(character) ? String.fromCodePoint(by(character)) : character))
    .join('')

/** Ways to show a secret so that a plain search for it finds nothing. */
const spellings: Readonly<Record<string, (text: string) => string>> = {
  'as written': (text) => text,
  'spaced out': (text) => [...text].join(' '),
  'in lines': (text) => text.replace(/(.{5})/gu, '$1\n'),
  'between dashes': (text) => [...text].join('-'),
  'between commas and quotes': (text) => [...text].map((character) => `"${character}"`).join(', '),
  'with zero-width characters': (text) => [...text].join('\u200b'),
  'with joiners and soft hyphens': (text) => [...text].join('\u2060\u00ad'),
  'with variation selectors': (text) => [...text].join('\ufe0f\u{e0101}'),
  'with accents': (text) => [...text].join('\u0301'),
  'full width': shifted((character) => character.charCodeAt(0) + 0xfee0),
  'in invisible tags': shifted((character) => 0xe0000 + character.charCodeAt(0)),
  'in different case': (text) =>
    text.replace(/[a-z]/gi, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())),
  'in capitals': (text) => text.toUpperCase(),
  'percent-escaped': percent,
  'percent-escaped twice': (text) => percent(text).replaceAll('%', '%25'),
  'unicode-escaped': (text) =>
    text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'escaped as in JavaScript': each((c) => `\\u{${hexOf(c)}}`),
  'escaped as in C': each((c) => (c < '\x80' ? `\\x${hexOf(c).padStart(2, '0')}` : c)),
  'as HTML entities': each((c) => `&#${c.codePointAt(0)};`),
  'as hexadecimal HTML entities': each((c) => `&#x${hexOf(c)};`),
  'in JSON in JSON': (text) => JSON.stringify(JSON.stringify(text)),
  'as base64': (text) => Buffer.from(text).toString('base64'),
  'as base64 of a header': (text) => Buffer.from(`Bearer ${text}`).toString('base64'),
  'as base64 of a pair': (text) => Buffer.from(`me:${text}`).toString('base64'),
  'as URL-safe base64': (text) => Buffer.from(`x${text}`).toString('base64url'),
  'in hex': (text) => Buffer.from(text).toString('hex'),
}

describe.each(Object.entries(spellings))('a secret %s', (_, spell) => {
  it.each([KEY, 'correct~horse', 'a'.repeat(4_096)])('is found: %s', (secret) => {
    expect(holdsSecret(`You sent ${spell(secret)}, which is wrong.`, ['another-secret', secret])).toBe(true)
  })

  it('is found if it is truncated', () => {
    expect(holdsSecret(`You sent ${spell(KEY.slice(0, 12))}…`, [KEY])).toBe(true)
    expect(holdsSecret(`You sent …${spell(KEY.slice(-12))}`, [KEY])).toBe(true)
    expect(holdsSecret(`You sent …${spell(KEY.slice(10, 22))}…`, [KEY])).toBe(true)
  })
})

it('the secret search finds any run of 8 characters of a secret, or a fifth of it, in any two spellings, whatever surrounds it', () => {
  const visible = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((c) => String.fromCharCode(c)),
    minLength: 12,
    maxLength: 200,
  })
  // A key that itself looks like an escape is decoded once too often. No provider issues such keys.
  const looksEscaped = /\\|%[0-9a-f]{2}|&#/i
  const secrets = visible.filter(
    (secret) => !looksEscaped.test(secret) && secret.replace(/[^a-z0-9]/gi, '').length >= 8,
  )
  const readable = Object.entries(spellings).filter(([name]) => !/base64|hex$/.test(name))
  const way = fc.constantFrom(...readable.map(([, spell]) => spell))
  // Nobody decodes parts of escapes, so those spellings are applied last.
  const unescaped = readable.filter(([name]) => !/escaped|entities|JSON/.test(name))
  const firstWay = fc.constantFrom(...unescaped.map(([, spell]) => spell))
  fc.assert(
    fc.property(
      secrets,
      fc.double({ min: 0, max: 1, noNaN: true }),
      way,
      firstWay,
      fc.string(),
      fc.string(),
      (secret, at, outer, inner, before, after) => {
        const letters = secret.replace(/[^a-z0-9]/gi, '').length
        // A run with so many letters and digits, from anywhere.
        const length = Math.max(8, Math.ceil(letters / 5))
        const places = [...secret].flatMap((character, index) => (/[a-z0-9]/i.test(character) ? [index] : []))
        const first = Math.floor(at * (places.length - length))
        const run = secret.slice(places[first], places[first + length - 1]! + 1)
        expect(holdsSecret(`${before} ${outer(inner(run))} ${after}`, [secret])).toBe(true)
      },
    ),
    { numRuns: 3_000 },
  )
})

describe('the secret search finds no secret', () => {
  it('in words that share less than 8 characters with it, or less than a fifth', () => {
    const texts = [
      'Incorrect API key provided: sk-proj-********8tUv.',
      'The field temperature must be at most 2.',
      '',
    ]
    for (const text of texts) expect(holdsSecret(text, [KEY])).toBe(false)
    const long = `sk-ant-api03-${'Zq7'.repeat(30)}`
    expect(holdsSecret('Keys begin with sk-ant-api03-.', [long])).toBe(false)
  })

  it('in a placeholder key, which is shorter than 8 characters', () => {
    for (const key of ['', 'x', 'none', 'EMPTY', '1234567']) {
      expect(isSecret(key)).toBe(false)
      expect(holdsSecret(`The value ${key} is not allowed.`, [key])).toBe(false)
    }
    expect(isSecret('12345678')).toBe(true)
  })

  it('in blanks or punctuation alone', () => {
    expect(holdsSecret('Some words, and some more.', ['        ', '\t\t\t\t\t\t\t\t\t'])).toBe(false)
    expect(holdsSecret('-- ~~ --', ['~~~~~~~~~~'])).toBe(false)
    expect(holdsSecret('-- ~~~~ ~~~~ --', ['~~~~~~~~~~'])).toBe(true)
  })
})

it('the secret search never throws, whatever the text and the secrets', () => {
  const units = fc.array(fc.nat(0xffff), { maxLength: 50 }).map((codes) => String.fromCharCode(...codes))
  const pieces = fc.array(
    fc.oneof(units, fc.constantFrom('%', '%ff', '\\u', '\\u{110000}', '&#x110000;', '&#9999999;', '\\ud83d')),
  )
  fc.assert(
    fc.property(pieces, units, (text, secret) => {
      holdsSecret(text.join(''), [secret])
    }),
  )
})

it.each([
  ['percent signs', '%25'.repeat(1_400)],
  ['backslashes', '\\u{'.repeat(1_400)],
  ['entities', '&#x'.repeat(1_400)],
  ['one letter', 'a'.repeat(4_096)],
  ['ligatures that fold to many letters', '\ufdfa'.repeat(4_096)],
])('the secret search is fast for a text of %s', { timeout: 120_000 }, (_, text) => {
  const search = () => {
    holdsSecret(text, [`${'a'.repeat(2_000)}b${'a'.repeat(2_000)}`])
  }
  expect(cpuMsOf(search, 2_000)).toBeLessThan(2_000)
})
