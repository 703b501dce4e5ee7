import { ServerResponse } from 'node:http'

/** The framing of a chunk: its length in hexadecimal, and two line ends. */
const FRAMING_BYTES = 16

/**
 * Sends one chunk of a body in chunked encoding as a single string, where `res.write` would hand four to the socket: a
 * fast path for events that come one by one, whose cost is mostly this.
 *
 * `bytes` is latin1. Returns false, and has sent nothing, wherever `res.write` could do anything else with them: where a
 * middleware has put its own `write` in place, the body is not chunked, the reply waits for its turn on the connection,
 * or anything before it has not been handed to the operating system yet. What is sent never has to be waited for.
 */
export function writeChunk(res: ServerResponse, bytes: string): boolean {
  const { socket } = res
  if (
    socket?.writable !== true ||
    !res.chunkedEncoding ||
    !res.headersSent ||
    res.write !== ServerResponse.prototype.write ||
    res.writableLength > 0 ||
    res.writableCorked > 0 ||
    bytes.length + FRAMING_BYTES >= socket.writableHighWaterMark
  ) {
    return false
  }
  socket.write(`${bytes.length.toString(16)}\r\n${bytes}\r\n`, 'latin1')
  return true
}
