import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2Stream } from 'node:http2'
import type { Awaitable } from '../contracts/context.js'
import type { BodyShare } from '../hosts/body-budget.js'
import { checkBodyType } from '../hosts/body-type.js'
import { BodyCollector, type BodySink, type BodySource, tooLarge } from '../hosts/collect-body.js'
import type { HostedCall } from '../hosts/hosted.js'
import { queryOf } from '../hosts/match.js'
import {
  abandoned,
  bodyConsumed,
  type CallTools,
  DRAIN_LIMIT_BYTES,
  declaredBytes,
  isChunked,
  parseBytes,
  takeRead,
} from '../hosts/received-body.js'
import type { ReceivedBody } from '../protocol/request-body.js'

/** A request as Node, a body parser or a framework passes it on. */
export type HostRequest = IncomingMessage & {
  body?: unknown
  /** Set by body-parser after it has read the body. */
  _body?: boolean
  /** Set by Express and Connect: the request target before they stripped a mount path. */
  originalUrl?: unknown
}

/** A response of Node. That of HTTP/2 has its stream, until the stream is closed. */
export type HostResponse = ServerResponse & { readonly stream?: Http2Stream | undefined }

const AUTHORIZATION = 'authorization'

/** An incoming request. */
export class HttpCall implements HostedCall {
  private collector: BodyCollector | undefined
  private receivedBytes = 0
  private isAbandoned = false
  /** Whether the page that sent the request may read the reply, even if it is not an error. */
  isOriginAllowed = false

  constructor(
    readonly requestId: string,
    private readonly req: HostRequest,
    private readonly tools: CallTools,
  ) {}

  header(name: string): string | undefined {
    const value = this.req.headers[name]
    return typeof value === 'object' ? value.join(', ') : value
  }

  get method(): string {
    return this.req.method ?? ''
  }

  get wholeTarget(): string {
    const { originalUrl, url = '' } = this.req
    return typeof originalUrl === 'string' ? originalUrl : url
  }

  get isStripped(): boolean {
    const { originalUrl, url } = this.req
    return originalUrl !== undefined && originalUrl !== url
  }

  get query(): string {
    return queryOf(this.req.url ?? '')
  }

  // Counts the raw headers, because Node keeps only the first line in `headers`.
  get authorizationLines(): number {
    const raw = this.req.rawHeaders
    let count = 0
    for (let index = 0; index < raw.length; index += 2) {
      const name = raw[index]!
      if (name.length === AUTHORIZATION.length && name.toLowerCase() === AUTHORIZATION) count++
    }
    return count
  }

  allowOrigin(): void {
    this.isOriginAllowed = true
  }

  // Even if the host attaches a listener in the meantime. A body that flows already goes to a listener of the host.
  keepBody(): boolean {
    const { httpVersionMajor, readableEnded, readableFlowing } = this.req
    if (readableFlowing === null && httpVersionMajor < 2) this.req.pause()
    return readableFlowing !== true || readableEnded
  }

  readBody(account: string, admit: (bytes: number) => void = () => {}): Awaitable<ReceivedBody> {
    // Over HTTP/2, an aborted request looks like one whose body was read.
    if (this.isAbandoned) throw abandoned()
    const req = this.req
    const isUnread = !req.readableEnded && !req.readableDidRead && req._body !== true
    checkBodyType(this, !isUnread)
    if (!isUnread) return this.takeParsed()

    const { budget, sizes, timeouts } = this.tools
    const declared = declaredBytes(this)
    if (declared !== undefined && declared > sizes.bodyBytes) throw tooLarge(sizes.bodyBytes)
    const arrived = declared === undefined ? undefined : this.readArrived(declared)
    if (arrived !== undefined) {
      budget.checkRoomFor(arrived.length, account)
      return parseBytes(arrived, this.tools)
    }
    // Only received bytes count. A declared length uses no memory and must not keep out other bodies.
    budget.checkRoomFor(declared ?? 0, account)
    const share = budget.open(account)
    const source = new RequestSource(req)
    this.collector = new BodyCollector(source, declared, timeouts, sizes.bodyBytes, this.tools.clock, share)
    return this.collect(this.collector, share, admit)
  }

  private async collect(
    collector: BodyCollector,
    share: BodyShare,
    admit: (bytes: number) => void,
  ): Promise<ReceivedBody> {
    try {
      const bytes = await collector.done
      // The collector refers to the bytes, and this call lasts as long as its reply.
      this.receivedBytes = collector.receivedBytes
      this.collector = undefined
      share.free()
      admit(bytes.length)
      return parseBytes(bytes, this.tools)
    } finally {
      share.free()
    }
  }

  /** Stops reading the body, since nobody will use it. A later read fails at once. */
  abandonBody(): void {
    this.isAbandoned = true
    if (this.collector?.isReading === true) this.collector.stop(abandoned())
  }

  /** Whether the rest of the body is too long to discard, so that the connection must end with the answer. */
  get mustClose(): boolean {
    if (this.collector?.failed === true) return true
    const rest = this.restBytes()
    return rest === undefined || rest > DRAIN_LIMIT_BYTES
  }

  /** Discards the rest of the body, so that the next request on the connection can be read. */
  discardRest(): void {
    if (this.restBytes() !== 0) this.req.resume()
  }

  /** Whether reading has started but has not reached the end of the body. */
  get isHalfRead(): boolean {
    const { req } = this
    return req.readableDidRead && !req.readableEnded && !req.complete && this.restBytes() !== 0
  }

  /** Returns how many bytes of the body have not arrived, or undefined if unknown. */
  private restBytes(): number | undefined {
    const req = this.req
    if (req.complete) return 0
    const declared = declaredBytes(this)
    // Over HTTP/1, the headers announce a body of unknown length. Over HTTP/2 they need not.
    if (declared === undefined) return req.httpVersionMajor < 2 && !isChunked(this) ? 0 : undefined
    const received = this.collector?.receivedBytes ?? this.receivedBytes
    return Math.max(0, declared - received - req.readableLength)
  }

  /** Returns the whole body if it arrived with the headers, as small ones do. This needs no listener and no timer. */
  private readArrived(declared: number): Buffer | undefined {
    // If the host has set an encoding, the length is in characters.
    if (this.req.readableEncoding !== null || this.req.readableLength < declared) return undefined
    // Without a size, Node 26 and later return only the first piece.
    const bytes: Buffer | null = this.req.read(declared)
    this.receivedBytes = declared
    return bytes ?? Buffer.alloc(0)
  }

  private takeParsed(): ReceivedBody {
    const { req, tools } = this
    const isHalfRead = req._body !== true && !req.readableEnded
    const body = isHalfRead ? undefined : req.body
    if (body === undefined || (body === null && !this.mayBeNull())) throw bodyConsumed(this.requestId, tools)
    return takeRead(body, this, tools)
  }

  /** Some parsers also set the body to null if they did not parse it. */
  private mayBeNull(): boolean {
    return this.req._body === true || declaredBytes(this) === 'null'.length
  }
}

/** A body that Node emits. */
export class RequestSource implements BodySource {
  private sink: BodySink | undefined

  constructor(private readonly req: IncomingMessage) {}

  start(sink: BodySink): void {
    this.sink = sink
    this.req.on('end', this.onEnd)
    this.req.on('data', this.onData)
    // If the host has paused the request, a listener alone does not make it flow.
    this.req.resume()
  }

  detach(): void {
    this.req.off('data', this.onData)
    this.req.off('end', this.onEnd)
  }

  pause(): void {
    this.req.pause()
  }

  // The data is a string if the host has set an encoding.
  private readonly onData = (data: Buffer | string): void => {
    this.sink?.take(typeof data === 'string' ? Buffer.from(data, this.req.readableEncoding ?? 'utf8') : data)
  }

  private readonly onEnd = (): void => this.sink?.end()
}
