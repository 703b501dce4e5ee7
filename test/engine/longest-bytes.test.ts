import { describe, expect, it } from 'vitest'
import { LongestBytes } from '../../src/engine/charging/longest-bytes.js'
import { createRandom } from '../simulation/random.js'

const longest = new LongestBytes()
const needed = (text: string) => Math.max(Buffer.byteLength(text), Buffer.byteLength(text.normalize('NFKC')))

const everyCharacter = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code))
const changed = everyCharacter.filter((character) => character.normalize('NFKD') !== character)
const marks = everyCharacter.filter((character) => /^\p{M}/u.test(character.normalize('NFKD')))
/** Of the lowest, the highest and an unusual class of combination, of a class of its own, and without a class. */
const someMarks = ['\u0334', '\u0323', '\u0301', '\u0345', '\u3099', '\u0f73', '\u09be']
const jamo = everyCharacter.slice(0x1100, 0x1200)

describe('the longest bytes of a text', () => {
  it('are those in UTF-8 or, if that is longer, in NFKC', () => {
    expect(longest.of('Zoë ran, 渡船 😀')).toBe(Buffer.byteLength('Zoë ran, 渡船 😀'))
    expect(longest.of('\ufdfa.')).toBe(Buffer.byteLength('\ufdfa.'.normalize('NFKC')))
    expect(longest.of('①.')).toBe(3 + 1)
    expect(longest.of('\ud800.')).toBe(3 + 1)
    expect(longest.of('')).toBe(0)
  })

  it('cover a mark that replaces the mark of the character before it', () => {
    const text = 'à\u0323'
    expect([...text].map(needed).reduce((sum, bytes) => sum + bytes)).toBeLessThan(needed(text))
    expect(longest.of(text)).toBe(needed(text))
  })

  it('cover every character of Unicode, alone and before marks', () => {
    for (const character of everyCharacter) {
      if (longest.of(character) < needed(character)) expect.unreachable(JSON.stringify(character))
    }
    for (const text of changed.flatMap((character) => someMarks.map((mark) => character + mark))) {
      if (longest.of(text) < needed(text)) expect.unreachable(JSON.stringify(text))
    }
  })

  it('cover random texts, and texts that a template joins', () => {
    const random = createRandom('normal forms')
    const one = () =>
      random.weighted([
        [3, () => random.pick(marks)],
        [3, () => random.pick(changed)],
        [1, () => random.pick(jamo)],
        [1, () => random.pick(everyCharacter)],
        [1, () => random.pick(['a', ' ', 'e', 'ά', '각', 'が', '\u0344', '\uff9e'])],
      ])()
    const text = () => Array.from({ length: random.int(1, 12) }, one).join('')
    for (let round = 0; round < 200_000; round++) {
      const [first, second] = [text(), text()]
      if (longest.of(first) < needed(first)) expect.unreachable(JSON.stringify(first))
      if (longest.of(first) + longest.of(second) < needed(first + second)) {
        expect.unreachable(JSON.stringify([first, second]))
      }
    }
  })

  it('are those of UTF-8 for characters too new to be known', () => {
    expect(changed.at(-1)!.codePointAt(0)).toBeLessThan(0x30000)
    expect(longest.of('\u{30000}\u{10ffff}.')).toBe(4 + 4 + 1)
  })
})
