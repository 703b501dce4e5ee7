import { hasManyBrackets } from './json-body.js'
import { countJsonValues, MAX_VALUES } from './json-scan.js'

/**
 * JSON text within a body or a reply, such as the arguments of a call. The limits of a body apply to it too, but the
 * parser of the body does not check it.
 */

/** A value has at least this many characters, its comma included. */
const CHARACTERS_A_VALUE = 2
const BEGINS_JSON = /^\s*[[{"]/
const BEGINS_STRING = /^\s*"/

/** Counts the JSON texts of one request. Together they have the limits of a body. */
export class InnerJson {
  private atMost = 0
  private counted = 0
  /** Texts not counted yet: most requests have too few characters to reach the limit. */
  private uncounted: string[] = []

  /**
   * Adds a text, including JSON inside a text that is itself a string. Returns whether all of them are within the
   * limits.
   */
  add(text: string): 'good' | 'too-deep' | 'too-many' {
    // Plain words are not JSON, but each would count as a value.
    if (!BEGINS_JSON.test(text)) return 'good'
    if (hasManyBrackets(text) && countJsonValues(text) === 'too-deep') return 'too-deep'
    this.uncounted.push(text)
    this.atMost += text.length / CHARACTERS_A_VALUE
    if (this.atMost > MAX_VALUES) {
      for (const one of this.uncounted) {
        const values = countJsonValues(one)
        this.counted += typeof values === 'number' ? values : Number.POSITIVE_INFINITY
      }
      this.uncounted = []
      this.atMost = this.counted
      if (this.counted > MAX_VALUES) return 'too-many'
    }
    const inner = BEGINS_STRING.test(text) ? parseText(text) : undefined
    return typeof inner === 'string' ? this.add(inner) : 'good'
  }
}

/** Parses JSON text. Returns undefined for any other text, and for JSON beyond the limits of a body. */
export function parseInner(text: string): unknown {
  return isWithin(text, MAX_VALUES) ? parseText(text) : undefined
}

/** Whether JSON text is within the limits of a body, and has no more values than this. */
export function isWithin(text: string, mostValues: number): boolean {
  if (text.length <= CHARACTERS_A_VALUE * mostValues && !hasManyBrackets(text)) return true
  const values = countJsonValues(text)
  return typeof values === 'number' && values <= mostValues
}

/** Parses JSON text that is known to be within the limits. Returns undefined for any other text. */
export function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
