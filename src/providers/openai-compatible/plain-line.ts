const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d
/** Longer lines are parsed, so that nothing nested deeply passes unread. */
const PLAIN_BYTES = 2_048
const SPACED_NULL = /^ ?: ?null/

/**
 * Whether a line of a stream can go on unparsed: it is no usage, no failure, and looks like an object.
 *
 * Looks at no more than the text, and errs towards `false`, on
 * - `"usage"` and `"error"`, unless the value null follows. Inside a string a quote is escaped, so these can only be
 *   a whole name or a whole value.
 * - a letter written as an escape, `\u006…` or `\u007…`, which could hide such a name.
 */
export function isPlainLine(line: string): boolean {
  const last = line.length - 1
  return (
    line.charCodeAt(0) === OPENING_BRACE &&
    line.charCodeAt(last) === CLOSING_BRACE &&
    last < PLAIN_BYTES &&
    !says('"usa', 'ge"', line) &&
    !says('"e', 'rror"', line) &&
    (line.indexOf('\\u00') < 0 || (line.indexOf('\\u006') < 0 && line.indexOf('\\u007') < 0))
  )
}

/** Whether `head + tail` stands in the line, other than as the name of a null. Searches for the rarer half. */
function says(head: string, tail: string, line: string): boolean {
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
