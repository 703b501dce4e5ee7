/** Finds the parts of JSON text without parsing it. For text that is not JSON, the result is meaningless. */

const BACKSLASH_CODE = 0x5c

export function afterSpace(text: string, from: number): number {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** Returns the start of the next member or item, or the end of the object or list. */
export function nextMember(text: string, end: number): number {
  const at = afterSpace(text, end)
  return text[at] === ',' ? afterSpace(text, at + 1) : at
}

/** Returns the position after a string, or the end of the text if the string has no end. */
export function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH_CODE) before--
    if ((quote - before) % 2 === 1) return quote + 1
  }
  return text.length
}

export function endOfValue(text: string, start: number): number {
  let depth = 0
  let at = start
  while (at < text.length) {
    const character = text[at]!
    if (character === '"') {
      at = endOfString(text, at)
      if (depth === 0) return at
      continue
    }
    if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') {
      if (depth === 0) return at
      depth--
      if (depth === 0) return at + 1
    } else if (depth === 0 && (character === ',' || isSpace(text.charCodeAt(at)))) return at
    at++
  }
  return at
}

/** Returns the number of members of the object with which a text begins, or 0. */
export function countMembers(text: string): number {
  const start = afterSpace(text, 0)
  if (text[start] !== '{') return 0
  let count = 0
  let at = afterSpace(text, start + 1)
  while (text[at] === '"') {
    count++
    const value = afterSpace(text, afterSpace(text, endOfString(text, at)) + 1)
    at = nextMember(text, endOfValue(text, value))
  }
  return count
}

/** The position of a member's value. */
export interface FoundMember {
  readonly name: string
  readonly from: number
  readonly to: number
}

/** Yields the members of the object at a position. Throws a `SyntaxError` for a name that is not JSON. */
export function* membersAt(text: string, at: number): Generator<FoundMember> {
  if (text[at] !== '{') return
  let name = afterSpace(text, at + 1)
  while (text[name] === '"') {
    const end = endOfString(text, name)
    const from = afterSpace(text, afterSpace(text, end) + 1)
    const to = endOfValue(text, from)
    yield { name: JSON.parse(text.slice(name, end)), from, to }
    name = nextMember(text, to)
  }
}
