import { describe, expect, it } from 'vitest'
import {
  asciiJson,
  fromWire,
  joined,
  jsonBytes,
  NO_BYTES,
  plus,
  toWire,
  type WireBytes,
  wire,
} from '../../src/protocol/wire-bytes.js'

/** Compiles only if its argument is known to be bytes. */
const lengthOf = (bytes: WireBytes): number => bytes.length

describe('bytes of a reply, as the compiler sees them', () => {
  const text: string = 'grüß'
  const bytes = toWire(text)
  const word: 'delta' | 'done' = 'delta'

  it('are each one character, and give the text back', () => {
    expect(lengthOf(bytes)).toBe(Buffer.byteLength(text))
    expect(fromWire(bytes)).toBe(text)
    expect(toWire('plain')).toBe('plain')
    expect(fromWire(jsonBytes({ text }))).toBe(JSON.stringify({ text }))
    expect(asciiJson({ text })).toBe('{"text":"gr\\u00fc\\u00df"}')
  })

  it('stay bytes in templates of ASCII with bytes, numbers and known words', () => {
    expect(wire(`event: ${word}\ndata: ${bytes}${bytes} ${7}\n\n`)).toBe(
      `event: delta\ndata: ${bytes}${bytes} 7\n\n`,
    )
    expect(lengthOf(wire(`${bytes}${word}`).slice(1))).toBe(10)
    expect(fromWire(joined([bytes, plus(NO_BYTES, wire('!'))], wire(',')))).toBe('grüß,!')
  })

  it('are not bytes any more once they are mixed with text', () => {
    // @ts-expect-error text is not bytes
    lengthOf(text)
    // @ts-expect-error `+` makes text
    lengthOf(bytes + bytes)
    // @ts-expect-error a value is text
    lengthOf(wire(`data: ${text}`))
    // @ts-expect-error a value is text
    lengthOf(wire(`${bytes}${text}${bytes}`))
    // @ts-expect-error a character is not ASCII
    lengthOf(wire('grüß'))
    // @ts-expect-error the JSON of text may have characters that are not ASCII
    lengthOf(wire(`data: ${JSON.stringify(text)}`))
    // @ts-expect-error text cannot be appended
    plus(bytes, text)
    // @ts-expect-error encodes twice
    toWire(bytes)
    // @ts-expect-error text has to be encoded before it can be decoded
    fromWire(text)
  })
})
