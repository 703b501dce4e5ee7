const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d
/** Longer lines are parsed, so that deep nesting cannot pass unnoticed. */
const PLAIN_BYTES = 2_048
const CHOICES = '"choices"'
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
    line.indexOf(CHOICES) >= 0 &&
    !contains('"usa', 'ge"', line) &&
    !contains('"e', 'rror"', line) &&
    (line.indexOf('\\u00') < 0 || (line.indexOf('\\u006') < 0 && line.indexOf('\\u007') < 0))
  )
}

/** Whether the line contains `head + tail` other than as the name of a null. Searches for the rarer half. */
function contains(head: string, tail: string, line: string): boolean {
  let found = line.indexOf(tail)
  while (found >= 0) {
    const end = found + tail.length
    if (line.slice(found - head.length, found) === head && !isNull(line, end)) return true
    found = line.indexOf(tail, end)
  }
  return false
}

function isNull(line: string, position: number): boolean {
  return (
    line.slice(position, position + 5) === ':null' || SPACED_NULL.test(line.slice(position, position + 7))
  )
}
