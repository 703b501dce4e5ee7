import { usesFastPaths } from '../base/fast-paths.js'
import type { FoundMessages } from './json-scan.js'

const sent = new WeakMap<object, Buffer>()

/**
 * Remembers how the `messages` of a request body were spelled, so that an adapter can send the client's own bytes on
 * instead of serialising them again: a fast path. Only if every reader must find in the bytes what was found here.
 */
export function rememberMessages(
  { messages }: Readonly<Record<string, unknown>>,
  bytes: Buffer,
  found: FoundMessages,
): void {
  // JSON with one name twice has fewer fields once it is parsed, and readers differ in which they keep.
  if (!usesFastPaths || !Array.isArray(messages) || countFields(messages) !== found.fields) return
  sent.set(messages, bytes.subarray(found.from, found.to))
}

/** The bytes of these very messages, or undefined if they are not remembered. */
export function sentMessages(messages: readonly unknown[]): Buffer | undefined {
  return sent.get(messages)
}

/** Lets go of the bytes: a provider has been asked, and they would stay in memory until its reply ends. */
export function forgetMessages(messages: readonly unknown[]): void {
  sent.delete(messages)
}

function countFields(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let fields = 0
  if (Array.isArray(value)) {
    for (const member of value) fields += countFields(member)
    return fields
  }
  for (const member of Object.values(value)) fields += 1 + countFields(member)
  return fields
}
