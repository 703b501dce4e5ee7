import { CompatError, isCompatError } from '../base/errors.js'
import { afterSpace, endOfString } from './json-text.js'
import { MAX_DEPTH } from './json-values.js'

export const MAX_VALUES = 200_000

/** The result of scanning JSON text without parsing it. */
export interface JsonScan {
  /** Whether any object has a field `__proto__`, however its letters are escaped. */
  readonly hasProtoKey: boolean
  readonly messages: FoundMessages | undefined
  readonly values: number
}

/** The position of the value of the top-level field `messages`, and the number of fields of all objects in it. */
export interface FoundMessages {
  readonly from: number
  readonly to: number
  readonly fields: number
}

const OPEN = 1
const CLOSE = 2
const QUOTE = 3
const COLON = 4
const SCALAR = 5
const MESSAGES = 'messages'
const BACKSLASH_CODE = 0x5c
const UNDERSCORE_CODE = 0x5f
/** Digits and minus come before it, and the letters of `true`, `false` and `null` after it. */
const LAST_DIGIT_CODE = 0x39

/** The kind of each character of JSON outside of strings. 0 is white space and commas. */
const KINDS = characterKinds()

function characterKinds(): Uint8Array {
  const kinds = new Uint8Array(256).fill(SCALAR)
  const set = (characters: string, kind: number): void => {
    for (const character of characters) kinds[character.charCodeAt(0)] = kind
  }
  set(' \t\r\n,', 0)
  set('[{', OPEN)
  set(']}', CLOSE)
  set('"', QUOTE)
  set(':', COLON)
  return kinds
}

/**
 * Scans the text of a request body once, in latin1. Throws a `CompatError` `invalid_request` if it is nested deeper than
 * 128 or has more than 200,000 values: containers, strings other than names, and runs of other characters. For text that
 * is not JSON the result is meaningless; the parser refuses such text afterwards.
 *
 * `messages` is set only if every parser must read the same value: not if the name could occur twice, and not if the
 * messages contain a number, which two parsers may read differently.
 */
export function scanJson(text: string): JsonScan {
  return new Scanner(text).run()
}

/** Returns the number of values in JSON text, or the limit of {@link scanJson} that it exceeds. */
export function countJsonValues(text: string): number | 'too-deep' | 'too-many' {
  return new Scanner(text).count()
}

class Scanner {
  private depth = 0
  private values = 0
  private hasProtoKey = false
  private from = -1
  private to = -1
  private fields = 0
  private isSure = true

  constructor(private readonly text: string) {}

  run(): JsonScan {
    let at = 0
    while (at < this.text.length) at = this.step(at)
    const { fields, from, hasProtoKey, to, values } = this
    return { hasProtoKey, messages: this.isSure && to >= 0 ? { from, to, fields } : undefined, values }
  }

  count(): number | 'too-deep' | 'too-many' {
    try {
      return this.run().values
    } catch (error) {
      if (!isCompatError(error)) throw error
      return this.depth > MAX_DEPTH ? 'too-deep' : 'too-many'
    }
  }

  /** Whether the scanner is inside the messages. */
  private get isInside(): boolean {
    return this.from >= 0 && this.to < 0
  }

  /** Returns the next position. */
  private step(at: number): number {
    switch (KINDS[this.text.charCodeAt(at)]) {
      case OPEN:
        this.countValue()
        this.depth++
        if (this.depth > MAX_DEPTH) throw tooDeep()
        return at + 1
      case CLOSE:
        this.depth--
        if (this.depth === 1 && this.isInside) this.to = at + 1
        return at + 1
      case QUOTE:
        return this.takeString(at)
      case SCALAR:
        return this.takeScalar(at)
      default:
        return at + 1
    }
  }

  private countValue(): void {
    this.values++
    if (this.values > MAX_VALUES) throw tooManyValues()
  }

  private takeScalar(start: number): number {
    const { text } = this
    this.countValue()
    if (this.isInside && text.charCodeAt(start) <= LAST_DIGIT_CODE) this.isSure = false
    let at = start + 1
    while (KINDS[text.charCodeAt(at)] === SCALAR) at++
    return at
  }

  private takeString(start: number): number {
    const { text } = this
    const end = endOfString(text, start)
    const next = afterSpace(text, end)
    if (KINDS[text.charCodeAt(next)] === COLON) {
      this.takeName(start + 1, end - 1, next + 1)
      return next + 1
    }
    this.countValue()
    return end
  }

  private takeName(start: number, end: number, value: number): void {
    const { text } = this
    if (couldBeProto(text.charCodeAt(start)) && isProto(text.slice(start, end))) this.hasProtoKey = true
    if (this.isInside) this.fields++
    else if (this.depth === 1) {
      const name = text.slice(start, end)
      if (name.includes('\\') || (name === MESSAGES && this.from >= 0)) this.isSure = false
      else if (name === MESSAGES) this.from = afterSpace(text, value)
    }
  }
}

function couldBeProto(code: number): boolean {
  return code === UNDERSCORE_CODE || code === BACKSLASH_CODE
}

function isProto(name: string): boolean {
  if (name === '__proto__') return true
  if (!name.includes('\\u00')) return false
  try {
    return JSON.parse(`"${name}"`) === '__proto__'
  } catch {
    return false
  }
}

export function tooDeep(): CompatError {
  return new CompatError('invalid_request', `The request body is nested deeper than ${MAX_DEPTH}.`)
}

export function tooManyValues(): CompatError {
  return new CompatError(
    'invalid_request',
    `The request body has more than ${MAX_VALUES.toLocaleString('en')} values.`,
  )
}
