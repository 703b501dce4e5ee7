import type { ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { Socket } from 'node:net'

export const HTTP2_INTERNAL_ERROR = 2

/**
 * Drops a client that takes nothing for `stallMs` of an answer that has been written to its end: from then on nobody else
 * watches it. Node's own timers see progress; for HTTP/1 that is the socket's, at whose end Node destroys the socket.
 */
export function dropIfStalled(res: ServerResponse, stallMs: number, isHttp2: boolean): void {
  if (isHttp2) {
    const { stream } = res as unknown as Http2ServerResponse
    if (stream?.writableLength) stream.setTimeout(stallMs, () => stream.close(HTTP2_INTERNAL_ERROR))
  } else if (res.writableLength > 0) {
    if (res.socket === null) res.once('socket', (socket: Socket) => limitSilence(res, socket, stallMs))
    else limitSilence(res, res.socket, stallMs)
  }
}

function limitSilence(res: ServerResponse, socket: Socket, stallMs: number): void {
  // What stands in for a socket where a request was not sent but injected may be any stream.
  if (typeof socket.setTimeout !== 'function') return
  const before = socket.timeout ?? 0
  if (before > 0 && before <= stallMs) return
  socket.setTimeout(stallMs)
  // Before Node's own listener, which sets the timeout of an idle connection or sends the next answer.
  res.prependOnceListener('finish', () => socket.setTimeout(before))
}
