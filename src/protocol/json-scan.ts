import { isUtf8 } from 'node:buffer'
import { CompatError } from '../errors.js'

const MAX_DEPTH = 128
const MAX_VALUES = 200_000
/** JSON has at most one value in two bytes, so a smaller body cannot hold too many. */
const COUNT_ABOVE_BYTES = 2 * MAX_VALUES

const OPEN = 1
const CLOSE = 2
const QUOTE = 3
const COLON = 4
const SCALAR = 5
const BACKSLASH_BYTE = 0x5c
const QUOTE_BYTE = 0x22
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

/** What each byte of JSON outside of strings begins: 0 is white space and commas. */
const BYTE_KINDS = byteKinds()

function byteKinds(): Uint8Array {
  const kinds = new Uint8Array(256).fill(SCALAR)
  for (const space of ' \t\r\n,') kinds[space.charCodeAt(0)] = 0
  for (const open of '[{') kinds[open.charCodeAt(0)] = OPEN
  for (const close of ']}') kinds[close.charCodeAt(0)] = CLOSE
  kinds[QUOTE_BYTE] = QUOTE
  kinds[':'.charCodeAt(0)] = COLON
  return kinds
}

/**
 * Reads a request body. Throws a `CompatError`: `invalid_json` for what is not JSON or not UTF-8, `invalid_request` for
 * another value than an object, for one nested deeper than 128 or of more than 200,000 values.
 *
 * A hostile body costs no more than one pass over its bytes: it is counted before it is parsed. A byte order mark is
 * skipped, own `__proto__` keys are dropped at every depth, the last of duplicate keys counts.
 */
export function parseJsonBody(bytes: Uint8Array): Record<string, unknown> {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (!isUtf8(body)) throw new CompatError('invalid_json', 'The request body is not valid UTF-8.')
  const start = BYTE_ORDER_MARK.every((byte, index) => body[index] === byte) ? BYTE_ORDER_MARK.length : 0
  if (body.length > COUNT_ABOVE_BYTES) countBytes(body, start)
  const text = body.toString('utf8', start)
  if (body.length <= COUNT_ABOVE_BYTES && hasManyBrackets(text)) countBytes(body, start)
  const value = parse(text)
  return hasProtoKey(text) ? checkJsonValue(value) : requireObject(value)
}

/**
 * Holds a body that the host's own parser has read to the limits of {@link parseJsonBody}. Own `__proto__` keys are
 * deleted from it; nothing else changes. A value that contains itself counts as nested too deep.
 */
export function checkJsonValue(value: unknown): Record<string, unknown> {
  const root = requireObject(value)
  const stack: object[] = [root]
  const depths = [1]
  let values = 1
  while (stack.length > 0) {
    const container = stack.pop()!
    const depth = depths.pop()!
    if (depth > MAX_DEPTH) throw tooDeep()
    const children: readonly unknown[] = Array.isArray(container) ? container : membersOf(container)
    values += children.length
    if (values > MAX_VALUES) throw tooManyValues()
    for (const child of children) {
      if (typeof child !== 'object' || child === null) continue
      stack.push(child)
      depths.push(depth + 1)
    }
  }
  return root
}

function membersOf(object: object): unknown[] {
  if (Object.hasOwn(object, '__proto__')) Reflect.deleteProperty(object, '__proto__')
  return Object.values(object)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    // The parser's own message quotes the body; only the position at its end is safe to repeat.
    const position = /at position (\d+)(?: \(line \d+ column \d+\))?$/.exec((error as Error).message)?.[1]
    const where = position === undefined ? '' : `: it breaks off or goes wrong at character ${position}`
    throw new CompatError('invalid_json', `The request body is not valid JSON${where}.`)
  }
}

function requireObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CompatError('invalid_request', 'The request body must be a JSON object.')
  }
  return value as Record<string, unknown>
}

const PROTO_KEY =
  /"(?:_|\\u005f){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006f)(?:t|\\u0074)(?:o|\\u006f)(?:_|\\u005f){2}"/i

/** Whether `__proto__` stands in the text as a whole string, however its letters are escaped. */
function hasProtoKey(text: string): boolean {
  return (text.includes('__proto__') || text.includes('\\u00')) && PROTO_KEY.test(text)
}

/** Whether the text could be nested deeper than 128 at all. */
export function hasManyBrackets(text: string): boolean {
  return countUpTo(text, '[', MAX_DEPTH) + countUpTo(text, '{', MAX_DEPTH) > MAX_DEPTH
}

function countUpTo(text: string, character: string, most: number): number {
  let count = 0
  for (let at = text.indexOf(character); at !== -1 && count <= most; at = text.indexOf(character, at + 1)) {
    count += 1
  }
  return count
}

/**
 * Counts depth and values of JSON text without parsing it. A value is a container, a string that is no key, or a run of
 * other bytes; text that is not JSON gets some count, and is then refused by the parser.
 */
function countBytes(body: Buffer, start: number): void {
  let depth = 0
  let values = 0
  let inScalar = false
  for (let at = start; at < body.length; at += 1) {
    const kind = BYTE_KINDS[body[at]!]!
    if (kind === SCALAR) {
      if (!inScalar) values += 1
      inScalar = true
      if (values > MAX_VALUES) throw tooManyValues()
      continue
    }
    inScalar = false
    if (kind === OPEN) {
      depth += 1
      values += 1
      if (depth > MAX_DEPTH) throw tooDeep()
    } else if (kind === CLOSE) {
      depth -= 1
    } else if (kind === QUOTE) {
      values += 1
      at = endOfString(body, at)
    } else if (kind === COLON) {
      values -= 1
    }
    if (values > MAX_VALUES) throw tooManyValues()
  }
}

const INLINE_BYTES = 64

/**
 * The index of the quote that ends the string beginning at `open`; the length of the body where none does. Short
 * strings and those full of escapes are read byte by byte, long ones by native search and a look back for what escapes.
 */
function endOfString(body: Buffer, open: number): number {
  let at = open + 1
  for (;;) {
    const inlineEnd = Math.min(at + INLINE_BYTES, body.length)
    for (; at < inlineEnd; at += 1) {
      const byte = body[at]!
      if (byte === QUOTE_BYTE) return at
      if (byte === BACKSLASH_BYTE) at += 1
    }
    const quote = body.indexOf(QUOTE_BYTE, at)
    if (quote === -1) return body.length
    let backslashes = 0
    while (quote - 1 - backslashes >= at && body[quote - 1 - backslashes] === BACKSLASH_BYTE) backslashes += 1
    if (backslashes % 2 === 0) return quote
    at = quote + 1
  }
}

function tooDeep(): CompatError {
  return new CompatError('invalid_request', `The request body is nested deeper than ${MAX_DEPTH}.`)
}

function tooManyValues(): CompatError {
  return new CompatError(
    'invalid_request',
    `The request body holds more than ${MAX_VALUES.toLocaleString('en')} values.`,
  )
}
