import type { Socket } from 'node:net'
import type { buildConnector, Client as ClientTypes, Dispatcher } from 'undici/index.js'
import Client from 'undici/lib/dispatcher/client.js'
import type { Connection, SentRequest } from '../sender.js'
import { ContinueRewriter } from './continue-rewriter.js'

interface SocketHolder {
  socket?: Socket
  readonly rewriter: ContinueRewriter
  readable: ((...values: unknown[]) => void)[]
}

/**
 * One connection whose reading can be paused.
 *
 * undici's own `pause()` stops its parser. If the other side closes a connection without keep-alive while the parser
 * is stopped, an assertion fails in a socket's listener, and the process ends (undici 7). So the parser is never
 * stopped. Instead, its `readable` listeners are removed: the socket's buffer fills up, and TCP holds the sender.
 */
export class UpstreamConnection extends Client implements Connection {
  private readonly holder: SocketHolder

  constructor(origin: URL, options: ClientTypes.Options, connect: buildConnector.connector) {
    const holder: SocketHolder = { rewriter: new ContinueRewriter(), readable: [] }
    super(origin, {
      ...options,
      connect(target, callback) {
        connect(target, (...result) => {
          const socket = result[1] ?? undefined
          holder.socket = socket
          socket?.once('close', () => {
            if (holder.socket === socket) delete holder.socket
          })
          holder.readable = []
          if (socket !== undefined) rewriteOnRead(socket, holder.rewriter)
          callback(...result)
        })
      },
    })
    this.holder = holder
  }

  override dispatch(
    options: SentRequest & Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    options.onConnection(this)
    return super.dispatch(options, handler)
  }

  begin(): void {
    this.holder.rewriter.begin()
  }

  /**
   * Ends the connection and the call that runs on it. undici's own abort would reconnect at once, for a request that
   * it then does not send.
   */
  drop(reason: Error): void {
    this.holder.socket?.destroy(reason)
  }

  get isSending(): boolean {
    return (this.holder.socket?.writableLength ?? 0) > 0
  }

  hold(): void {
    const { socket, readable } = this.holder
    if (socket === undefined || readable.length > 0) return
    this.holder.readable = socket.listeners('readable') as SocketHolder['readable']
    socket.removeAllListeners('readable')
  }

  release(): void {
    const { socket, readable } = this.holder
    this.holder.readable = []
    if (socket === undefined || socket.destroyed) return
    for (const listener of readable) socket.on('readable', listener)
  }
}

/** undici takes incoming data with `read`. */
function rewriteOnRead(socket: Socket, rewriter: ContinueRewriter): void {
  const read = socket.read
  socket.read = (size) => {
    const bytes: Buffer | null = read.call(socket, size)
    if (bytes !== null) rewriter.rewrite(bytes)
    return bytes
  }
}
