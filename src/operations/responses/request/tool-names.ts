import { createHash } from 'node:crypto'

/** The longest name of a function that all providers accept. */
const MAX_CHARS = 64
const SEPARATOR = '__'
const HASH_CHARS = 8

/** The name under which a provider gets the client's own tool search. */
export const TOOL_SEARCH = 'tool_search'

/**
 * Returns the name of a tool for providers, which know no namespaces. The same tool has the same name in every request.
 * A name that is too long ends with a hash of the whole name.
 */
export function flatName(namespace: string | undefined, name: string): string {
  if (namespace === undefined || namespace === '') return name
  const start = namespace.endsWith(SEPARATOR) ? namespace : namespace + SEPARATOR
  if (start.length + name.length <= MAX_CHARS) return start + name
  const hash = createHash('sha256').update(start).update(name).digest('hex').slice(0, HASH_CHARS)
  // Only the beginnings are joined, so that a long name of an earlier call is not kept once more.
  const flat = start.slice(0, MAX_CHARS) + name.slice(0, MAX_CHARS)
  return `${flat.slice(0, MAX_CHARS - HASH_CHARS - 1)}_${hash}`
}
