import type { StoredReply } from './idempotency.js'

/** What the body of a reply takes, 0 where it has none: a stream's bytes are latin1, a JSON body is text. */
export function bodyBytesOf({ mode, bytes = '' }: StoredReply): number {
  return mode === 'stream' ? bytes.length : Buffer.byteLength(bytes)
}
