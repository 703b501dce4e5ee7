const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d
/** Longer lines are parsed, so that deep nesting cannot pass unnoticed. */
const PLAIN_BYTES = 2_048
const SPACED_NULL = /^ ?: ?null/

/**
 * Whether a line of a stream can be passed on unparsed: it has choices, no usage and no failure, and looks like an
 * object.
 *
 * Examines only the text, and returns `false` if in doubt, that is, for
 * - `"usage"` and `"error"`, unless the value null follows. Quotes inside a string are escaped, so these can only be
 *   a whole name or a whole value.
 * - a letter written as an escape, `\u006…` or `\u007…`, which could hide such a name.
 */
export function isPlainLine(line: string): boolean {
  const last = line.length - 1
  return (
    line.charCodeAt(0) === OPENING_BRACE &&
    line.charCodeAt(last) === CLOSING_BRACE &&
    last < PLAIN_BYTES &&
    find('"cho', 'ices"', line, 0) >= 0 &&
    !hasValue('"usa', 'ge"', line) &&
    !hasValue('"e', 'rror"', line) &&
    (line.indexOf('\\u00') < 0 || (line.indexOf('\\u006') < 0 && line.indexOf('\\u007') < 0))
  )
}

/** Whether the line contains `head + tail` other than as a name with the value null. */
function hasValue(head: string, tail: string, line: string): boolean {
  let end = find(head, tail, line, 0)
  while (end >= 0 && isNull(line, end)) end = find(head, tail, line, end)
  return end >= 0
}

/**
 * Returns the end of the next `head + tail` in the line, or -1. Searches for the rarer half, which has at most six
 * characters. For longer texts, V8 prepares a table at each search, which doubled the time to read an event.
 */
function find(head: string, tail: string, line: string, from: number): number {
  let found = line.indexOf(tail, from)
  while (found >= 0 && line.slice(found - head.length, found) !== head) {
    found = line.indexOf(tail, found + tail.length)
  }
  return found < 0 ? found : found + tail.length
}

function isNull(line: string, position: number): boolean {
  return (
    line.slice(position, position + 5) === ':null' || SPACED_NULL.test(line.slice(position, position + 7))
  )
}
