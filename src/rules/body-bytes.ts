import type { StoredReply } from '../contracts/idempotency.js'

/** Returns how many bytes of UTF-8 the body of a reply has: 0 if it is not kept. */
export function bodyBytesOf({ bytes = '' }: StoredReply): number {
  return Buffer.byteLength(bytes)
}
