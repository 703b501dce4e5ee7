/**
 * Shortcuts that only save time. Each has a plain twin with the same result:
 * - `chunks`: a chunk of a stream is written to the socket as one string (`http/write-chunk.ts`)
 * - `lines`: an event of one line is read without the parser (`providers/sse-reader.ts`)
 * - `messages`: long messages are sent to the provider in the client's own bytes (`protocol/sent-text.ts`)
 * - `splice`: a chunk is relayed without being parsed (`operations/chat/reply/splice.ts`), and so is plain text of the
 *   Messages API (`operations/messages/reply/text-delta.ts`)
 * - `turns`: calls that become ready in one turn of the event loop continue together (`base/turn-gate.ts`)
 */
export type FastPath = 'chunks' | 'lines' | 'messages' | 'splice' | 'turns'

const [isOff, names] = (process.env.COMPAT_ROUTER_FAST_PATHS ?? '').split(':')

/**
 * Returns whether a fast path is used. For comparison and for tests, `COMPAT_ROUTER_FAST_PATHS=off` switches all of them
 * off, and `off:lines,turns` those alone.
 */
export function usesFastPath(path: FastPath): boolean {
  return isOff !== 'off' || (names !== undefined && !names.split(',').includes(path))
}
