import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastPaths } from '../contracts/index.js'
import type { ReplyBytes, WholeReply } from '../contracts/reply.js'
import { ALLOW_ORIGIN } from '../hosts/cors.js'
import { HostReply, type HostReplyTools } from '../hosts/host-reply.js'
import type { ReplyHeaders } from '../hosts/hosted.js'
import { emptyHead, isShort, letPageRead, nameMetadata, streamHead, wholeHead } from '../hosts/reply-head.js'
import type { RequestId } from '../hosts/request-id.js'
import type { ErrorStyle } from '../protocol/error-body.js'
import { NO_BYTES, type WireBytes } from '../protocol/wire-bytes.js'
import type { HostRequest, HostResponse, HttpCall } from './call.js'
import { dropIfStalled, HTTP2_INTERNAL_ERROR } from './drop-if-stalled.js'
import type { SocketWatch } from './socket-watch.js'
import { writeChunk } from './write-chunk.js'

/** The parts that all replies of one handler share. */
export interface ReplyTools extends HostReplyTools {
  readonly sockets: SocketWatch
  readonly fastPaths: Pick<FastPaths, 'chunks'>
  /** Whether connections should end with their replies. */
  readonly isClosing: () => boolean
}

/**
 * The reply to a request. It never throws if the client has left, and does nothing once the host has answered. If the
 * host's own `writeHead`, `write` or `end` throws, the error is reported as a fault and the client is dropped, as if it
 * had left.
 */
export class HttpReply extends HostReply {
  private drained: Promise<void> | undefined
  private resume: (() => void) | undefined
  private hearsDrain = false
  private watched: Socket | undefined
  private readonly isHttp2: boolean

  /** `isPublic`: any cache may keep a success. `errors`: OpenAI's shape if undefined. */
  constructor(
    private readonly req: HostRequest,
    private readonly res: HostResponse,
    private readonly requestId: RequestId,
    private readonly call: HttpCall,
    private readonly tools: ReplyTools,
    private readonly isPublic: boolean,
    errors: ErrorStyle | undefined,
  ) {
    super(requestId.id, tools.onFault, errors)
    this.isHttp2 = req.httpVersionMajor === 2
    res.on('close', this.leave)
    if (res.socket === null) {
      this.watched = req.socket
      tools.sockets.add(req.socket, this.leave)
    }
  }

  override get left(): boolean {
    return this.hasLeft || (this.phase === 'waiting' && isAnswered(this.res))
  }

  get isOriginDecided(): boolean {
    return this.res.hasHeader(ALLOW_ORIGIN)
  }

  send(status: number, headers: Readonly<Record<string, string>>, bytes: WholeReply): void | Promise<void> {
    if (!this.mayBegin()) return
    const head = wholeHead(status, headers, bytes, this.isPublic)
    return this.answer(status, head, this.req.method === 'HEAD' ? NO_BYTES : bytes)
  }

  sendNoContent(headers: Readonly<Record<string, string>>): void {
    if (!this.mayBegin()) return
    void this.answer(204, emptyHead(headers), NO_BYTES)
  }

  openStream(headers: Readonly<Record<string, string>>): void {
    if (!this.mayBegin()) return
    try {
      this.writeHead(200, streamHead(headers))
      this.phase = 'stream'
      const socket = this.isHttp2 ? null : this.res.socket
      if (socket !== null) {
        // One system call sends the headers and all that is written in the same tick.
        socket.cork()
        process.nextTick(uncork, socket)
      }
      this.res.flushHeaders()
    } catch (error) {
      this.breakOff(error)
    }
  }

  write(bytes: WireBytes): void | Promise<void> {
    if (this.hasLeft || this.phase !== 'stream' || bytes === '') return
    const { res } = this
    if (res.writableEnded || res.destroyed) return this.leave()
    try {
      if (this.tools.fastPaths.chunks && !this.isHttp2 && writeChunk(res, bytes)) return
      if (!res.write(bytes, 'latin1')) return this.whenDrained()
    } catch (error) {
      this.breakOff(error)
    }
  }

  end(bytes: ReplyBytes): void | Promise<void> {
    if (this.hasLeft || this.phase !== 'stream') return
    if (this.res.writableEnded || this.res.destroyed) {
      this.leave()
      return
    }
    try {
      return this.sendEnd(bytes)
    } catch (error) {
      this.breakOff(error)
    }
  }

  drop(): void {
    if (this.isHttp2) {
      // With any other code, or with destroy(), the client would see an ordinary end.
      this.res.stream?.close(HTTP2_INTERNAL_ERROR)
    } else if (this.res.socket) this.res.socket.destroy()
    else if (this.phase !== 'done') {
      // Replies before this one still use the connection.
      this.res.once('socket', (socket: Socket) => socket.destroy())
    }
    this.leave()
  }

  destroy(): void {
    this.res.destroy()
  }

  private mayBegin(): boolean {
    if (this.hasLeft || this.phase !== 'waiting') return false
    if (!isAnswered(this.res)) return true
    this.leave()
    return false
  }

  private writeHead(status: number, headers: ReplyHeaders): void {
    if (!this.requestId.isOnResponse) headers['x-request-id'] = this.requestId.id
    const { origin } = this.req.headers
    if (origin !== undefined && !this.isOriginDecided) {
      letPageRead(headers, status, origin, this.call.isOriginAllowed, this.res.getHeader('vary'))
    }
    const { isClosing, sockets } = this.tools
    // When a reply ends its connection, Node drops the pipelined requests behind it. So only the last reply may end it.
    const endsConnection = isClosing() && sockets.isLast(this.req.socket, this.leave)
    if (!this.isHttp2 && (this.call.mustClose || endsConnection)) headers.connection = 'close'
    this.res.writeHead(status, headers)
  }

  private answer(status: number, headers: ReplyHeaders, bytes: WholeReply): void | Promise<void> {
    nameMetadata(headers, this.tools.resourceMetadata)
    try {
      this.writeHead(status, headers)
      return this.sendEnd(bytes)
    } catch (error) {
      this.breakOff(error)
    }
  }

  // It is unknown which bytes the client received, and a second answer might follow a charge for the first.
  protected cutOff(): void {
    this.phase = 'stream'
    this.drop()
  }

  private sendEnd(bytes: ReplyBytes): void | Promise<void> {
    this.phase = 'done'
    const { call, res } = this
    const mustClose = call.mustClose
    call.abandonBody()
    let sent: Promise<void> | undefined
    if (!isShort(bytes)) sent = this.sendPieces(bytes)
    else if (bytes === '') res.end()
    else res.end(bytes, 'latin1')
    if (!this.isHttp2 && !mustClose) call.discardRest()
    if (this.isHttp2 && call.isHalfRead) {
      if (sent === undefined) this.closeStream()
      else void sent.then(() => this.closeStream())
    }
    dropIfStalled(res, this.tools.timeouts.clientStallMs, this.isHttp2)
    // Until this reply is sent, the replies before it must not end the connection.
    if (this.watched !== undefined) res.once('finish', () => this.release())
    return sent
  }

  private closeStream(): void {
    this.res.stream?.close()
  }

  protected get isGone(): boolean {
    return this.res.destroyed || this.res.writableEnded
  }

  protected put(piece: WireBytes): void | Promise<void> {
    if (!this.res.write(piece, 'latin1')) return this.untilAccepted()
  }

  protected close(): void {
    this.res.end()
  }

  /** Settles when the client has accepted everything written, or is gone. */
  private untilAccepted(): Promise<void> {
    const { res } = this
    // A reply that waits for its turn on the connection is not told when the connection closes.
    const queuedOn = this.isHttp2 || res.socket !== null ? undefined : this.req.socket
    // Node reports the `drain` of its own sockets only to a reply. A socket injected by a test reports it itself.
    const socket = this.isHttp2 ? undefined : res.socket
    return new Promise((resolve) => {
      const settle = (): void => {
        res.off('drain', settle)
        res.off('close', settle)
        socket?.off('drain', settle)
        queuedOn?.off('close', settle)
        resolve()
      }
      res.on('drain', settle)
      res.on('close', settle)
      socket?.on('drain', settle)
      queuedOn?.on('close', settle)
    })
  }

  private whenDrained(): Promise<void> {
    if (!this.hearsDrain) {
      this.hearsDrain = true
      this.res.on('drain', () => this.resumeWriter())
    }
    this.drained ??= new Promise((resolve) => {
      this.resume = resolve
    })
    return this.drained
  }

  private resumeWriter(): void {
    this.resume?.()
    this.resume = undefined
    this.drained = undefined
  }

  // Also called if the host's timeout middleware answers: any close before the router's own end counts as a client that
  // left.
  private readonly leave = (): void => {
    if (this.hasLeft || this.phase === 'done') return
    this.hasLeft = true
    this.release()
    this.resumeWriter()
    this.call.abandonBody()
    // If the host has answered, the rest of this body precedes the next request on the connection.
    if (this.res.writableEnded && !this.isHttp2) this.call.discardRest()
    this.tellListener()
  }

  private release(): void {
    if (this.watched === undefined) return
    this.tools.sockets.remove(this.watched, this.leave)
    this.watched = undefined
  }
}

function isAnswered(res: ServerResponse): boolean {
  return res.headersSent || res.writableEnded
}

function uncork(socket: Socket): void {
  socket.uncork()
}
