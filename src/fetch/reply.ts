import type { CompatError } from '../base/errors.js'
import type { ReplyBytes, WholeReply } from '../contracts/reply.js'
import type { HostedReply, ReplyHeaders } from '../hosts/hosted.js'
import {
  emptyHead,
  isShort,
  letPageRead,
  nameMetadata,
  piecesOf,
  streamHead,
  wholeHead,
} from '../hosts/reply-head.js'
import { asCompatError, type ErrorStyle, errorReply } from '../protocol/error-body.js'
import type { FetchCall } from './call.js'

/** The bytes that may wait for the client before a writer has to. */
const WAITING_BYTES = 64 * 1024
/** Of a client that left before the reply began. Nobody receives it. */
const CLIENT_LEFT = 499

/** The parts that all replies of one handler share. */
export interface ReplyTools {
  /** The address of the protected-resource metadata (RFC 9728), named in each `www-authenticate`. */
  readonly resourceMetadata: string | undefined
  readonly onFault: (where: string, error: unknown, requestId?: string) => void
}

/** A reply that becomes a web `Response`. It never throws if the client has left. */
export class FetchReply implements HostedReply {
  readonly response: Promise<Response>
  readonly isOriginDecided = false
  private respond!: (response: Response) => void
  private phase: 'waiting' | 'stream' | 'done' = 'waiting'
  private hasLeft = false
  private listener: (() => void) | undefined
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  private resume: (() => void) | undefined

  /**
   * `isPublic`: any cache may keep a success. `errors`: OpenAI's shape if undefined. `onHead` is called once, when the
   * response begins.
   */
  constructor(
    private readonly call: FetchCall,
    private readonly tools: ReplyTools,
    private readonly isPublic: boolean,
    private readonly errors: ErrorStyle | undefined,
    private readonly onHead: () => void,
    readonly onDone: (() => void) | undefined,
  ) {
    this.response = new Promise((resolve) => {
      this.respond = resolve
    })
  }

  get left(): boolean {
    return this.hasLeft
  }

  onLeave(listener: () => void): void {
    this.listener = listener
    if (this.hasLeft) this.callListener()
  }

  send(status: number, headers: Readonly<ReplyHeaders>, bytes: WholeReply): void | Promise<void> {
    if (this.hasLeft || this.phase !== 'waiting') return
    const head = wholeHead(status, headers, bytes, this.isPublic)
    nameMetadata(head, this.tools.resourceMetadata)
    this.phase = 'done'
    if (this.call.method === 'HEAD' || bytes === '') this.begin(status, head, null)
    else if (isShort(bytes)) this.begin(status, head, toBytes(bytes))
    else {
      this.begin(status, head, this.openBody())
      return this.sendPieces(bytes)
    }
  }

  sendError(error: CompatError): void {
    const { status, headers, body } = errorReply(error, this.errors)
    void this.send(status, headers, body)
  }

  sendNoContent(headers: Readonly<ReplyHeaders>): void {
    if (this.hasLeft || this.phase !== 'waiting') return
    this.phase = 'done'
    this.begin(204, emptyHead(headers), null)
  }

  openStream(headers: Readonly<ReplyHeaders>): void {
    if (this.hasLeft || this.phase !== 'waiting') return
    this.phase = 'stream'
    this.begin(200, streamHead(headers), this.openBody())
  }

  write(bytes: string): void | Promise<void> {
    if (this.hasLeft || this.phase !== 'stream' || bytes === '') return
    return this.enqueue(bytes)
  }

  end(bytes: ReplyBytes): void | Promise<void> {
    if (this.hasLeft || this.phase !== 'stream') return
    this.phase = 'done'
    this.call.abandonBody()
    if (!isShort(bytes)) return this.sendPieces(bytes)
    if (bytes !== '') this.enqueue(bytes)
    this.controller?.close()
  }

  drop(): void {
    if (this.phase === 'waiting') this.sendError(asCompatError(new Error('The reply was broken off.')))
    this.controller?.error(new Error('The reply was broken off.'))
    this.settleWriter()
    this.leave()
  }

  fail(error: CompatError): void {
    if (this.phase === 'waiting') this.sendError(error)
    else if (this.phase === 'stream') this.drop()
  }

  destroy(): void {
    this.drop()
  }

  /** The client left, or the host no longer wants the reply. */
  readonly leave = (): void => {
    if (this.hasLeft || this.phase === 'done') return
    this.hasLeft = true
    this.settleWriter()
    this.call.abandonBody()
    if (this.phase === 'waiting') this.begin(CLIENT_LEFT, {}, null)
    this.callListener()
  }

  private begin(status: number, headers: ReplyHeaders, body: Uint8Array | ReadableStream | null): void {
    headers['x-request-id'] = this.call.requestId
    const { origin } = this.call.headers
    if (typeof origin === 'string') letPageRead(headers, status, origin, this.call.isOriginAllowed)
    this.onHead()
    this.respond(new Response(body, { status, headers }))
    // The rest of a body is discarded while the answer is on its way.
    if (this.phase === 'done') this.call.abandonBody()
  }

  private openBody(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller
        },
        pull: () => this.settleWriter(),
        cancel: () => {
          this.controller = undefined
          this.settleWriter()
          this.leave()
        },
      },
      { highWaterMark: WAITING_BYTES, size: ({ byteLength }: Uint8Array) => byteLength },
    )
  }

  /** Returns a promise if too many bytes wait for the client. It settles when it has accepted most of them, or has left. */
  private enqueue(bytes: string): void | Promise<void> {
    const { controller } = this
    if (controller === undefined) return
    controller.enqueue(toBytes(bytes))
    if ((controller.desiredSize ?? 0) > 0) return
    return new Promise((resolve) => {
      this.resume = resolve
    })
  }

  private async sendPieces(bytes: ReplyBytes): Promise<void> {
    for (const piece of piecesOf(bytes)) await this.enqueue(piece)
    this.controller?.close()
  }

  private settleWriter(): void {
    this.resume?.()
    this.resume = undefined
  }

  private callListener(): void {
    const listener = this.listener
    this.listener = undefined
    try {
      listener?.()
    } catch (error) {
      this.tools.onFault('http leave', error, this.call.requestId)
    }
  }
}

/** Each character is one byte. */
function toBytes(latin1: string): Uint8Array {
  return Buffer.from(latin1, 'latin1')
}
