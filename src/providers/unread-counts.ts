import type { JsonObject } from '../protocol/json-values.js'

const SAYS_CACHE = /cache/i

/**
 * The counts whose names hold `cache` but are none of those that are read, or undefined if there are none. A cached token
 * has a price of its own, so the host is told of them.
 */
export function unreadCounts(
  places: readonly JsonObject[],
  read: ReadonlySet<string>,
): Record<string, number> | undefined {
  let unread: Record<string, number> | undefined
  for (const place of places) {
    for (const [name, value] of Object.entries(place)) {
      if (!SAYS_CACHE.test(name) || read.has(name) || typeof value !== 'number' || value === 0) continue
      unread ??= {}
      unread[name] = value
    }
  }
  return unread
}
