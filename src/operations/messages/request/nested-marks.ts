import { isObject, type JsonObject } from '../../../protocol/json-values.js'

/** Returns the mark to send, or undefined to remove it. */
export type ReplaceMark = (mark: unknown, place: string) => unknown

/**
 * Replaces the prompt cache marks of blocks at any depth: in their contents, and in documents within those. The `input`
 * of a tool call is the model's data and contains no marks. Returns the same value if no mark changes.
 */
export function replaceMarks(value: unknown, place: string, replace: ReplaceMark): unknown {
  if (Array.isArray(value)) {
    let items: unknown[] | undefined
    for (const [position, item] of value.entries()) {
      const sent = replaceMarks(item, `${place}.${position}`, replace)
      if (sent === item) continue
      items ??= value.slice()
      items[position] = sent
    }
    return items ?? value
  }
  if (!isObject(value)) return value
  let members: JsonObject | undefined
  for (const name of Object.keys(value)) {
    const member = value[name]
    if (member === null || name === 'input') continue
    const path = `${place}.${name}`
    const sent = name === 'cache_control' ? replace(member, path) : replaceMarks(member, path, replace)
    if (sent === member) continue
    members ??= { ...value }
    members[name] = sent
  }
  return members ?? value
}
