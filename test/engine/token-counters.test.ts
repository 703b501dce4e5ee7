import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base'
import llama3 from 'llama3-tokenizer-js'
import { describe, expect, it } from 'vitest'
import { createTextCounter } from '../../src/engine/charging/token-counters.js'
import { CODE, PROSE } from '../helpers/text-samples.js'
import { createRandom } from '../simulation/random.js'

const NO_SPECIAL_TOKENS = { disallowedSpecial: new Set<string>() }
const TOKENIZERS: Readonly<Record<string, (text: string) => number>> = {
  o200k: (text) => countO200k(text, NO_SPECIAL_TOKENS),
  cl100k: (text) => countCl100k(text, NO_SPECIAL_TOKENS),
  llama3: (text) => llama3.encode(text, { bos: false, eos: false }).length,
}

const counter = createTextCounter()

function held(text: string): number {
  const tally = counter.tally()
  tally.add(text)
  return tally.atMost()
}

function repeated(times: number, piece: (random: ReturnType<typeof createRandom>) => string): string {
  const random = createRandom('texts')
  return Array.from({ length: times }, () => piece(random)).join('')
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const HEX = '0123456789abcdef'
const one = (random: ReturnType<typeof createRandom>, alphabet: string) =>
  alphabet[random.int(0, alphabet.length - 1)]!
const some = (random: ReturnType<typeof createRandom>, alphabet: string, count: number) =>
  Array.from({ length: count }, () => one(random, alphabet)).join('')
/** English in other letters. Each entry is the code point at which an alphabet begins. */
const inLetters = (capitals: number, small: number) =>
  [...PROSE.English!]
    .map((letter) => {
      const code = letter.codePointAt(0)!
      if (letter >= 'a' && letter <= 'z') return String.fromCodePoint(small + code - 0x61)
      return letter >= 'A' && letter <= 'Z' ? String.fromCodePoint(capitals + code - 0x41) : letter
    })
    .join('')
const english = PROSE.English!
const LEET: Readonly<Record<string, string>> = { a: '4', e: '3', i: '1', o: '0', s: '5', t: '7' }

const NOT_PROSE: Readonly<Record<string, string>> = {
  'minified JavaScript': CODE.TypeScript!.replace(/\s+/g, ' ').replace(/ ?([=(){},;?:<>|&+-]) ?/g, '$1'),
  base64: repeated(40, (random) => `${some(random, BASE64, 76)}\n`),
  'base64 in one line': repeated(3_000, (random) => one(random, BASE64)),
  hex: repeated(3_000, (random) => one(random, HEX)),
  'hex in capitals': repeated(3_000, (random) => one(random, HEX.toUpperCase())),
  UUIDs: repeated(60, (random) => `${[8, 4, 4, 4, 12].map((count) => some(random, HEX, count)).join('-')}\n`),
  'percent-encoded bytes': repeated(700, (random) => `%${some(random, HEX, 2)}`),
  'escaped characters': repeated(500, (random) => `\\u${some(random, HEX, 4)}`),
  addresses: repeated(
    40,
    (random) =>
      `https://cdn.example.com/${some(random, HEX, 8)}?id=${random.int(0, 99_999)}&s=${some(random, BASE64, 12)}\n`,
  ),
  numbers: repeated(300, (random) => `${random.int(0, 99_999)} `),
  'a table of numbers': repeated(
    150,
    (random) => `${random.int(0, 999)}\t${(random.next() * 100).toFixed(4)}\t-${random.int(0, 9)}\n`,
  ),
  'single digits': repeated(900, (random) => `${random.int(0, 9)},`),
  dates: repeated(
    80,
    (random) =>
      `2026-0${random.int(1, 9)}-1${random.int(0, 9)}T0${random.int(0, 9)}:00:00.${random.int(100, 999)}Z\n`,
  ),
  JSON: repeated(
    60,
    (random) =>
      `{"id":${random.int(0, 9e5)},"name":"item ${random.int(0, 99)}","tags":["a","b${random.int(0, 9)}"],"ok":true,"at":null},`,
  ),
  'indented JSON': JSON.stringify(
    Array.from({ length: 30 }, (_, id) => ({
      id,
      name: `item ${id}`,
      price: { amount: id * 1.5, currency: 'EUR' },
    })),
    null,
    2,
  ),
  emoji: repeated(300, (random) =>
    random.pick(['😀', '🎉', '👍🏽', '🔥', '❤️', '🚀', '🫠', '🪵', '🧪', '🇳🇴']),
  ),
  'joined emoji': '👩‍👩‍👧‍👦🏳️‍🌈🧑🏿‍🤝‍🧑🏻👩🏽‍🚀❤️‍🔥'.repeat(40),
  'mathematical letters': inLetters(0x1d400, 0x1d41a),
  'full-width letters': inLetters(0xff21, 0xff41),
  'stacked accents': repeated(
    600,
    (random) =>
      one(random, 'aeioulmn ') + String.fromCharCode(random.int(0x300, 0x36f), random.int(0x300, 0x36f)),
  ),
  'random ASCII': repeated(3_000, (random) => String.fromCharCode(random.int(0x20, 0x7e))),
  'random bytes': repeated(3_000, (random) => String.fromCharCode(random.int(0, 0xff))),
  'random small letters': repeated(3_000, (random) => one(random, 'abcdefghijklmnopqrstuvwxyz')),
  'random capitals': repeated(3_000, (random) => one(random, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')),
  capitals: english.toUpperCase(),
  'alternating capitals': [...english].map((letter, at) => (at % 2 ? letter.toUpperCase() : letter)).join(''),
  'spaced letters': [...english].join(' '),
  'dotted letters': [...english].join('.'),
  leetspeak: english.replace(/[aeiost]/g, (letter) => LEET[letter]!),
  'no vowels': english.replace(/[aeiou]/g, ''),
  backwards: [...english].reverse().join(''),
  'snake case': english.toLowerCase().replace(/\W+/g, '_'),
  'camel case': english.replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase()),
  'a run of spaces': ' '.repeat(3_000),
  'two spaces between words': english.replaceAll(' ', '  '),
  'lines of one word': english.replaceAll(' ', '\n'),
  'white space': repeated(1_000, (random) => random.pick([' ', '\t', '\n', '    ', '\n\n'])),
  'control characters': repeated(1_000, (random) => String.fromCharCode(random.int(0, 31))),
  frames: `┌${'─'.repeat(30)}┐\n│ ${' '.repeat(28)} │\n└${'─'.repeat(30)}┘\n`.repeat(20),
  'lone surrogates': '\ud800'.repeat(300),
  'a gene': repeated(2_000, (random) => one(random, 'ACGT')),
  markup: repeated(
    80,
    (random) => `<td class="c${random.int(0, 99)}" data-k='${some(random, HEX, 6)}'>&nbsp;</td>`,
  ),
  'a log': repeated(
    50,
    (random) =>
      `[2026-11-2${random.int(0, 9)} 10:0${random.int(0, 9)}:11] INFO c.acme.Job - ${some(random, HEX, 12)} took ${random.int(1, 999)}ms\n`,
  ),
  ...Object.fromEntries(
    [...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'].map((sign) => [`a run of ${sign}`, sign.repeat(2_000)]),
  ),
}

describe.each(Object.entries(TOKENIZERS))('the hold by %s covers the tokens of', (_, count) => {
  it.each(Object.entries({ ...PROSE, ...CODE, ...NOT_PROSE }))('%s', (_name, text) => {
    expect(held(text)).toBeGreaterThanOrEqual(count(text))
  })
})

describe('the hold is at most 1.6 times the o200k tokens of', () => {
  const texts = (folder: string, ending: string) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(ending))
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('\n')

  it.each([
    ['English prose', PROSE.English!.repeat(4)],
    ['technical English', texts('docs', '.md').replace(/^\|.*$/gm, '')],
    ['TypeScript', texts('src/engine', '.ts')],
    ['TSX', texts('src/console/ui', '.tsx')],
    ...Object.entries(CODE),
  ])('%s', (_name, text) => {
    expect(held(text) / TOKENIZERS.o200k!(text)).toBeLessThanOrEqual(1.6)
  })
})

describe('the default text counter', () => {
  it('holds no more tokens than the text has bytes, whatever the text', () => {
    const everything = repeated(20_000, (random) => String.fromCodePoint(random.int(0x80, 0x1fbff)))
    expect(held(everything)).toBeLessThanOrEqual(Buffer.byteLength(everything))
    expect(held('')).toBe(0)
  })

  it('counts long text as the sum of its pieces, even if they split characters', () => {
    for (const piece of ['words and words ', 'пароход ', '渡船', '😀']) {
      const long = piece.repeat(Math.ceil(200_000 / piece.length))
      const tokensOfAPiece = held(piece.repeat(1_000)) / 1_000
      expect(held(long) / (tokensOfAPiece * Math.ceil(200_000 / piece.length))).toBeCloseTo(1, 2)
    }
  })

  it('charges a token for four bytes of UTF-8, in one piece or many', () => {
    const tally = counter.tally()
    for (const piece of ['xxx', '日本', '', 'x'.repeat(99_993)]) tally.add(piece)
    expect(tally.atLeast()).toBe(25_000 + Math.floor(2 / 4))
    expect(held('日本')).toBeGreaterThanOrEqual(2)
  })

  it('keeps interleaved tallies apart', () => {
    const [first, second] = [counter.tally(), counter.tally()]
    first.add('one two three')
    second.add('четыре')
    first.add('four')
    const alone = counter.tally()
    alone.add('one two three')
    alone.add('four')
    expect([first.atMost(), first.atLeast()]).toEqual([alone.atMost(), alone.atLeast()])
    expect(second.atMost()).toBe(held('четыре'))
  })
})
