import type { JsonObject } from '../protocol/json-values.js'

/**
 * Returns the counts whose names contain `cache` and are not in `read`, or undefined if there are none. Cached tokens
 * have a price of their own, so these counts are reported to the host.
 */
export function unreadCounts(
  objects: readonly JsonObject[],
  read: ReadonlySet<string>,
): Record<string, number> | undefined {
  let unread: Record<string, number> | undefined
  for (const object of objects) {
    for (const name of Object.keys(object)) {
      const value = object[name]
      if (typeof value !== 'number' || value === 0 || read.has(name)) continue
      if (!name.toLowerCase().includes('cache')) continue
      unread ??= {}
      unread[name] = value
    }
  }
  return unread
}
