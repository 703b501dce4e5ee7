import type { Clock } from '../base/clock.js'
import type { ReplyBytes, WholeReply } from '../contracts/reply.js'
import { HostReply, type HostReplyTools } from '../hosts/host-reply.js'
import type { ReplyHeaders } from '../hosts/hosted.js'
import { emptyHead, isShort, letPageRead, nameMetadata, streamHead, wholeHead } from '../hosts/reply-head.js'
import { asCompatError, type ErrorStyle } from '../protocol/error-body.js'
import type { WireBytes } from '../protocol/wire-bytes.js'
import type { FetchCall } from './call.js'

/** The bytes that may wait for the client before a writer has to. */
const WAITING_BYTES = 64 * 1024
/** Of a client that left before the reply began. Nobody receives it. */
const CLIENT_LEFT = 499
/** Of a reply that cannot be a `Response`, because a header of it is none. */
const BROKEN = 500

type Body = string | Uint8Array | ReadableStream | null

/** Text that has the same bytes in latin1 and in UTF-8. Hosts write text and headers to the socket at once, and bytes apart. */
const ASCII = /^[\0-\x7f]*$/

/** The parts that all replies of one handler share. */
export interface ReplyTools extends HostReplyTools {
  readonly clock: Clock
}

/**
 * A reply that becomes a web `Response`. It never throws if the client has left. If there can be no such `Response`, the
 * error is reported as a fault and the client gets an empty 500, as if it had left.
 */
export class FetchReply extends HostReply {
  readonly response: Promise<Response>
  readonly isOriginDecided = false
  private respond!: (response: Response) => void
  /** Undefined if the reply has no stream, or nobody takes any more of it. */
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  private accepted: Promise<void> | undefined
  private resume: (() => void) | undefined

  /**
   * `isPublic`: any cache may keep a success. `errors`: OpenAI's shape if undefined. `onHead` is called once, when the
   * response begins.
   */
  constructor(
    private readonly call: FetchCall,
    private readonly tools: ReplyTools,
    private readonly isPublic: boolean,
    errors: ErrorStyle | undefined,
    private readonly onHead: () => void,
    override readonly onDone: (() => void) | undefined,
  ) {
    super(call.requestId, tools.onFault, errors)
    this.response = new Promise((resolve) => {
      this.respond = resolve
    })
  }

  send(status: number, headers: Readonly<ReplyHeaders>, bytes: WholeReply): void | Promise<void> {
    if (this.hasLeft || this.phase !== 'waiting') return
    const head = wholeHead(status, headers, bytes, this.isPublic)
    nameMetadata(head, this.tools.resourceMetadata)
    this.phase = 'done'
    if (this.call.method === 'HEAD' || bytes === '') this.begin(status, head, null)
    else if (isShort(bytes)) this.begin(status, head, ASCII.test(bytes) ? bytes : toBytes(bytes))
    else {
      this.begin(status, head, this.openBody())
      return this.sendPieces(bytes)
    }
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

  write(bytes: WireBytes): void | Promise<void> {
    if (this.hasLeft || this.phase !== 'stream' || bytes === '') return
    return this.enqueue(bytes)
  }

  end(bytes: ReplyBytes): void | Promise<void> {
    if (this.hasLeft || this.phase !== 'stream') return
    this.phase = 'done'
    this.call.abandonBody()
    if (!isShort(bytes)) return this.sendPieces(bytes)
    if (bytes !== '') this.enqueue(bytes)
    this.close()
  }

  drop(): void {
    if (this.phase === 'waiting') this.sendError(asCompatError(new Error('The reply was broken off.')))
    this.cutOff()
    this.leave()
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
    this.tellListener()
  }

  private begin(status: number, headers: ReplyHeaders, body: Body): void {
    headers['x-request-id'] = this.call.requestId
    const origin = this.call.header('origin')
    if (origin !== undefined) letPageRead(headers, status, origin, this.call.isOriginAllowed)
    this.onHead()
    this.respond(this.made(status, headers, body))
    // The rest of a body is discarded while the answer is on its way.
    if (this.phase === 'done') this.call.abandonBody()
  }

  private made(status: number, headers: ReplyHeaders, body: Body): Response {
    try {
      return new Response(body, { status, headers })
    } catch (error) {
      this.phase = 'stream'
      this.breakOff(error)
      this.leave()
      return new Response(null, { status: BROKEN })
    }
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
  private enqueue(bytes: WireBytes): void | Promise<void> {
    const { controller } = this
    if (controller === undefined) return
    controller.enqueue(toBytes(bytes))
    if ((controller.desiredSize ?? 0) > 0) return
    this.accepted ??= new Promise((resolve) => {
      this.resume = resolve
    })
    return this.accepted
  }

  protected get isGone(): boolean {
    return this.controller === undefined
  }

  // Nobody else watches the client from here on.
  protected put(piece: WireBytes): void | Promise<void> {
    const accepted = this.enqueue(piece)
    if (accepted === undefined) return
    const endStall = this.tools.clock.after(this.tools.timeouts.clientStallMs, () => this.cutOff())
    return accepted.then(endStall)
  }

  protected close(): void {
    this.controller?.close()
  }

  protected cutOff(): void {
    const { controller } = this
    this.controller = undefined
    controller?.error(new Error('The reply was broken off.'))
    this.settleWriter()
  }

  private settleWriter(): void {
    this.resume?.()
    this.resume = undefined
    this.accepted = undefined
  }
}

function toBytes(latin1: WireBytes): Uint8Array {
  return Buffer.from(latin1, 'latin1')
}
