import type { IncomingMessage } from 'node:http'
import type { Clock } from '../base/clock.js'
import { CompatError } from '../base/errors.js'
import type { Awaitable } from '../contracts/context.js'
import type { FastPaths } from '../contracts/index.js'
import type { Sizes, Timeouts } from '../contracts/limits.js'
import type { IncomingCall } from '../contracts/reply.js'
import { asCompatError } from '../protocol/error-body.js'
import { checkJsonValue, parseJsonBody } from '../protocol/json-body.js'
import { memorySize } from '../protocol/memory-size.js'
import type { ReceivedBody } from '../protocol/request-body.js'
import type { BodyBudget, BodyShare } from './body-budget.js'
import { checkBodyType } from './body-type.js'
import { BodyCollector, tooLarge } from './collect-body.js'
import { queryOf } from './match.js'

/** A request as Node, a body parser or a framework passes it on. */
export type HostRequest = IncomingMessage & {
  body?: unknown
  /** Set by body-parser after it has read the body. */
  _body?: boolean
  /** Set by Express and Connect: the request target before they stripped a mount path. */
  originalUrl?: unknown
}

/** The parts that all calls of one handler share. */
export interface CallTools {
  readonly timeouts: Timeouts
  readonly sizes: Sizes
  readonly clock: Clock
  readonly fastPaths: Pick<FastPaths, 'messages'>
  readonly budget: BodyBudget
  readonly onBodyConsumed: (requestId: string) => void
}

/** The rest of a refused body is read and discarded up to this size, so that the connection can stay open. */
const DRAIN_LIMIT_BYTES = 64 * 1024
const AUTHORIZATION = 'authorization'

/** An incoming request. */
export class HttpCall implements IncomingCall {
  private collector: BodyCollector | undefined
  private receivedBytes = 0
  private isAbandoned = false
  readonly headers: IncomingMessage['headers']
  /** Whether the page that sent the request may read the reply, even if it is not an error. */
  isOriginAllowed = false

  constructor(
    readonly requestId: string,
    private readonly req: HostRequest,
    private readonly tools: CallTools,
  ) {
    this.headers = req.headers
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

  /**
   * Holds the body back until it is read here, even if the host attaches a listener in the meantime. Returns false if the
   * body already flows to a listener: it must then be read at once, or it is lost.
   */
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
    checkBodyType(req.headers, !isUnread)
    if (!isUnread) return this.takeParsed()

    const { budget, sizes, timeouts } = this.tools
    const declared = declaredBytes(req)
    if (declared !== undefined && declared > sizes.bodyBytes) throw tooLarge(sizes.bodyBytes)
    const arrived = declared === undefined ? undefined : this.readArrived(declared)
    if (arrived !== undefined) {
      budget.checkRoomFor(arrived.length, account)
      return this.parse(arrived)
    }
    // Only received bytes count. A declared length uses no memory and must not keep out other bodies.
    budget.checkRoomFor(declared ?? 0, account)
    const share = budget.open(account)
    this.collector = new BodyCollector(req, declared, timeouts, sizes.bodyBytes, this.tools.clock, share)
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
      return this.parse(bytes)
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
    const declared = declaredBytes(req)
    // Over HTTP/1, the headers announce a body of unknown length. Over HTTP/2 they need not.
    if (declared === undefined) return req.httpVersionMajor < 2 && !isChunked(req) ? 0 : undefined
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
    if (typeof body === 'string' || body instanceof Uint8Array) {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body
      if (bytes.length > tools.sizes.bodyBytes) throw tooLarge(tools.sizes.bodyBytes)
      return this.parse(bytes)
    }
    if (body === undefined || (body === null && !mayBeNull(req))) {
      tools.onBodyConsumed(this.requestId)
      throw asCompatError(new Error('Another middleware has consumed the request body.'))
    }
    const value = checkJsonValue(body)
    const declared = req.headers['content-encoding'] === undefined ? declaredBytes(req) : undefined
    return { value, bytes: declared ?? memorySize(value) }
  }

  private parse(bytes: Uint8Array): ReceivedBody {
    if (bytes.length === 0) {
      throw new CompatError('invalid_json', 'The request body is empty; send a JSON object.')
    }
    return parseJsonBody(bytes, this.tools.fastPaths.messages)
  }
}

/** Some parsers also set the body to null if they did not parse it. */
function mayBeNull(req: HostRequest): boolean {
  return req._body === true || declaredBytes(req) === 'null'.length
}

function abandoned(): CompatError {
  return new CompatError('invalid_request', 'The request ended before its body was read.')
}

function declaredBytes(req: IncomingMessage): number | undefined {
  const header = req.headers['content-length']
  if (header === undefined || isChunked(req)) return undefined
  const bytes = Number(header)
  return Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : undefined
}

function isChunked(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined
}
