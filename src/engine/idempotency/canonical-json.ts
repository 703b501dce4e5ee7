import { createHash } from 'node:crypto'
import { withDigitTexts } from '../../protocol/exact-data.js'
import type { JsonObject } from '../../protocol/json-values.js'

const PIECE_CHARACTERS = 64 * 1_024
/** Pieces written or sorted in one turn of the event loop: a few milliseconds of work. */
const PIECES_A_TURN = 4
const NAMES_A_PIECE = 4_096
const MAX_INDEX = 4_294_967_294

/**
 * Returns the SHA-256 of a JSON value. The order of fields makes no difference, but every digit in the caller's own
 * schemas and arguments does. A long value is hashed over several turns of the event loop.
 */
export async function digestJson(value: unknown): Promise<string> {
  const hash = createHash('sha256')
  let pieces = 0
  for (const piece of new CanonicalJson().pieces(value)) {
    hash.update(piece)
    if (++pieces % PIECES_A_TURN === 0) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return hash.digest('hex')
}

/**
 * Writes JSON as `JSON.stringify` does, but with sorted fields and one piece at a time. An empty piece is only a pause.
 */
class CanonicalJson {
  private text = ''

  private take(): string {
    const text = this.text
    this.text = ''
    return text
  }

  *pieces(value: unknown): Generator<string> {
    yield* this.write(value)
    yield this.take()
  }

  private *write(value: unknown): Generator<string> {
    if (this.writeShort(value)) return
    if (typeof value === 'string') yield* this.writeLongText(value)
    else if (Array.isArray(value)) yield* this.writeList(value)
    else yield* this.writeFields(withDigitTexts(value as JsonObject))
  }

  /** Writes a short value directly: a generator would cost more than most values. */
  private writeShort(value: unknown): boolean {
    if (typeof value === 'string' ? value.length >= PIECE_CHARACTERS : isNested(value)) return false
    this.text += JSON.stringify(value) ?? 'null'
    return true
  }

  private *writeList(items: readonly unknown[]): Generator<string> {
    this.text += '['
    for (let position = 0; position < items.length; position++) {
      if (position > 0) this.text += ','
      if (!this.writeShort(items[position])) yield* this.write(items[position])
      if (this.text.length >= PIECE_CHARACTERS) yield this.take()
    }
    this.text += ']'
  }

  private *writeFields(fields: Readonly<Record<string, unknown>>): Generator<string> {
    this.text += '{'
    let separator = ''
    for (const name of yield* sortedNames(fields)) {
      const value = fields[name]
      if (value === undefined) continue
      this.text += separator
      separator = ','
      if (!this.writeShort(name)) yield* this.writeLongText(name)
      this.text += ':'
      if (!this.writeShort(value)) yield* this.write(value)
      if (this.text.length >= PIECE_CHARACTERS) yield this.take()
    }
    this.text += '}'
  }

  private *writeLongText(text: string): Generator<string> {
    this.text += '"'
    for (let start = 0; start < text.length; ) {
      let end = Math.min(start + PIECE_CHARACTERS, text.length)
      // Half of a surrogate pair is encoded differently from the whole pair.
      if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end--
      this.text += JSON.stringify(text.slice(start, end)).slice(1, -1)
      yield this.take()
      start = end
    }
    this.text += '"'
  }
}

/**
 * Returns integer names first, in numeric order as JavaScript engines keep them, then the other names in order of their
 * characters.
 */
function* sortedNames(fields: object): Generator<string, readonly string[]> {
  const names = Object.keys(fields)
  const others = names.findIndex((name) => !isIndex(name))
  if (others === -1) return names
  const indexes = names.slice(0, others)
  let runs: string[][] = []
  for (let start = others; start < names.length; start += NAMES_A_PIECE) {
    if (start > others) yield ''
    runs.push(names.slice(start, start + NAMES_A_PIECE).sort())
  }
  while (runs.length > 1) {
    const merged: string[][] = []
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* mergeRuns(runs[at]!, runs[at + 1] ?? []))
    runs = merged
  }
  return indexes.length === 0 ? runs[0]! : indexes.concat(runs[0]!)
}

function* mergeRuns(one: readonly string[], other: readonly string[]): Generator<string, string[]> {
  const merged: string[] = []
  let first = 0
  let second = 0
  while (first < one.length || second < other.length) {
    const isFirst = second === other.length || (first < one.length && one[first]! < other[second]!)
    merged.push(isFirst ? one[first++]! : other[second++]!)
    if (merged.length % NAMES_A_PIECE === 0) yield ''
  }
  return merged
}

function isIndex(name: string): boolean {
  return /^(?:0|[1-9]\d{0,9})$/.test(name) && Number(name) <= MAX_INDEX
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
