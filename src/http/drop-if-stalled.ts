import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HostResponse } from './call.js'

export const HTTP2_INTERNAL_ERROR = 2

/**
 * Drops a client that accepts no bytes for `stallMs` after the whole answer has been written. From then on nobody else
 * watches it. Node's own timers observe progress. For HTTP/1 it is the socket's timer, after which Node destroys the
 * socket.
 */
export function dropIfStalled(res: HostResponse, stallMs: number, isHttp2: boolean): void {
  if (isHttp2) {
    const { stream } = res
    if (stream?.writableLength) stream.setTimeout(stallMs, () => stream.close(HTTP2_INTERNAL_ERROR))
  } else if (res.writableLength > 0) {
    if (res.socket === null) res.once('socket', (socket: Socket) => limitSilence(res, socket, stallMs))
    else limitSilence(res, res.socket, stallMs)
  }
}

function limitSilence(res: ServerResponse, socket: Socket, stallMs: number): void {
  // If a test injected the request, the socket may be any stream.
  if (typeof socket.setTimeout !== 'function') return
  const before = socket.timeout ?? 0
  if (before > 0 && before <= stallMs) return
  socket.setTimeout(stallMs)
  // Runs before Node's own listener, which sets the timeout of an idle connection or sends the next answer.
  res.prependOnceListener('finish', () => socket.setTimeout(before))
}
