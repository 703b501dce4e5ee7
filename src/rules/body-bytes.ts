import type { StoredReply } from '../contracts/idempotency.js'

/** Returns the number of bytes of UTF-8 in the body of a reply. 0 if the body is not kept. */
export function bodyBytesOf({ bytes = '' }: StoredReply): number {
  return Buffer.byteLength(bytes)
}
