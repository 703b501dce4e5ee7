import { isAscii, isUtf8 } from 'node:buffer'
import { CompatError } from '../base/errors.js'
import { keepExactData } from './exact-data.js'
import { MAX_VALUES, scanJson, tooDeep, tooManyValues } from './json-scan.js'
import { isObject, type JsonObject, MAX_DEPTH } from './json-values.js'
import type { ReceivedBody } from './request-body.js'
import { textOfMessages } from './sent-text.js'

/** Shorter bodies need only a few searches in their text, and cannot have too many values. */
const LONG_BYTES = 2 * 1024
const BYTE_ORDER_MARK = Buffer.from('\ufeff')
const [MARK_START] = BYTE_ORDER_MARK

/**
 * Parses a request body. Throws a `CompatError`: `invalid_json` if it is not JSON in UTF-8, `invalid_request` if it is not
 * an object, is nested deeper than 128 or has more than 200,000 values.
 *
 * These are counted before parsing, so a hostile body costs only one pass over its bytes. A byte order mark is skipped,
 * own `__proto__` keys are dropped at every depth, and the last of duplicate keys wins.
 *
 * @param keepsText whether the text of long messages is kept, to send it as it came
 */
export function parseJsonBody(bytes: Uint8Array, keepsText = true): ReceivedBody {
  const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (!isUtf8(given)) throw new CompatError('invalid_json', 'The request body is not valid UTF-8.')
  const isMarked =
    given[0] === MARK_START && given.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
  const body = isMarked ? given.subarray(BYTE_ORDER_MARK.length) : given
  return body.length < LONG_BYTES ? parseShort(body) : parseLong(body, keepsText)
}

function parseShort(body: Buffer): ReceivedBody {
  const text = body.toString()
  if (hasManyBrackets(text)) scanJson(text)
  const value = parse(text)
  const object = hasProtoKey(text) ? checkJsonValue(value) : requireObject(value)
  keepExactData(object, text)
  return { value: object, bytes: body.length }
}

function parseLong(body: Buffer, keepsText: boolean): ReceivedBody {
  const latin1 = body.toString('latin1')
  const { hasProtoKey, messages } = scanJson(latin1)
  const text = isAscii(body) ? latin1 : body.toString()
  const value = parse(text)
  const object = hasProtoKey ? checkJsonValue(value) : requireObject(value)
  keepExactData(object, text)
  if (!keepsText || hasProtoKey || messages === undefined) return { value: object, bytes: body.length }
  return { value: object, bytes: body.length, sentText: textOfMessages(object, body, messages) }
}

/**
 * Checks a body that the host's own parser has read against the limits of {@link parseJsonBody}. Own `__proto__` keys are
 * deleted from it; nothing else changes. A value that contains itself counts as nested too deeply.
 */
export function checkJsonValue(value: unknown): JsonObject {
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
    // The parser's own message quotes the body. Only the position at its end is safe to repeat.
    const position = /at position (\d+)(?: \(line \d+ column \d+\))?$/.exec((error as Error).message)?.[1]
    const where = position === undefined ? '' : `: the first error is at character ${position}`
    throw new CompatError('invalid_json', `The request body is not valid JSON${where}.`)
  }
}

function requireObject(value: unknown): JsonObject {
  if (isObject(value)) return value
  throw new CompatError('invalid_request', 'The request body must be a JSON object.')
}

const PROTO_KEY =
  /"(?:_|\\u005f){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006f)(?:t|\\u0074)(?:o|\\u006f)(?:_|\\u005f){2}"/i

/** Whether the text contains `__proto__` as a whole string, however its letters are escaped. */
function hasProtoKey(text: string): boolean {
  return (text.includes('__proto__') || text.includes('\\u00')) && PROTO_KEY.test(text)
}

/** Whether the text could be JSON that is nested deeper than 128. */
export function hasManyBrackets(text: string): boolean {
  if (text.length <= 2 * MAX_DEPTH) return false
  return countUpTo(text, '[', MAX_DEPTH) + countUpTo(text, '{', MAX_DEPTH) > MAX_DEPTH
}

function countUpTo(text: string, character: string, most: number): number {
  let count = 0
  for (let at = text.indexOf(character); at !== -1 && count <= most; at = text.indexOf(character, at + 1)) {
    count += 1
  }
  return count
}
