import type { IncomingMessage } from 'node:http'
import type { Clock } from '../base/clock.js'
import { CompatError } from '../base/errors.js'
import type { Awaitable } from '../contracts/context.js'
import type { Limits } from '../contracts/limits.js'
import type { IncomingCall } from '../contracts/reply.js'
import { asCompatError } from '../protocol/error-body.js'
import { checkJsonValue, parseJsonBody } from '../protocol/json-body.js'
import type { RequestBody } from '../protocol/request-body.js'
import type { BodyBudget, BodyShare } from './body-budget.js'
import { checkBodyType } from './body-type.js'
import { BodyCollector, tooLarge } from './collect-body.js'

/** A request as Node, a body parser or a framework hands it over. */
export type HostRequest = IncomingMessage & {
  body?: unknown
  /** Set by body-parser once it has read the body. */
  _body?: boolean
  /** Set by Express and Connect: the target before a mount path was taken off. */
  originalUrl?: unknown
}

/** The parts that all calls of one handler share. */
export interface CallSettings {
  readonly limits: Limits
  readonly clock: Clock
  readonly budget: BodyBudget
  readonly onBodyConsumed: (requestId: string) => void
}

/** The rest of a refused body up to this size is read and discarded, so that the connection stays open. */
const DRAIN_LIMIT_BYTES = 64 * 1024
const AUTHORIZATION = 'authorization'

/** A request on its way in. */
export class HttpCall implements IncomingCall {
  #collector: BodyCollector | undefined
  #receivedBytes = 0
  #isAbandoned = false

  constructor(
    readonly requestId: string,
    private readonly req: HostRequest,
    private readonly settings: CallSettings,
  ) {}

  get headers(): IncomingMessage['headers'] {
    return this.req.headers
  }

  // Counted in the raw headers: Node drops all lines but the first from `headers`.
  get authorizationLines(): number {
    const raw = this.req.rawHeaders
    let count = 0
    for (let index = 0; index < raw.length; index += 2) {
      const name = raw[index]!
      if (name.length === AUTHORIZATION.length && name.toLowerCase() === AUTHORIZATION) count++
    }
    return count
  }

  /**
   * Holds the body back until it is read here, even if the host attaches a listener in the meantime. Returns false if the
   * body already flows to a listener: then it must be read at once, or is gone.
   */
  keepBody(): boolean {
    const { httpVersionMajor, readableEnded, readableFlowing } = this.req
    if (readableFlowing === null && httpVersionMajor < 2) this.req.pause()
    return readableFlowing !== true || readableEnded
  }

  readBody(account: string): Awaitable<RequestBody> {
    // Over HTTP/2 a request that broke off looks like one that was read.
    if (this.#isAbandoned) throw abandoned()
    const req = this.req
    const isUnread = !req.readableEnded && !req.readableDidRead && req._body !== true
    checkBodyType(req.headers, !isUnread)
    if (!isUnread) return this.#takeParsed()

    const { limits, budget } = this.settings
    const declared = declaredBytes(req)
    if (declared !== undefined && declared > limits.bodyBytes) throw tooLarge(limits.bodyBytes)
    const arrived = declared === undefined ? undefined : this.#readArrived(declared)
    if (arrived !== undefined) {
      budget.checkRoomFor(arrived.length, account)
      return parseBytes(arrived)
    }
    // Counted as it arrives: an announced length takes no memory, and must not keep out other bodies.
    budget.checkRoomFor(declared ?? 0, account)
    const share = budget.open(account)
    this.#collector = new BodyCollector(req, declared, limits, this.settings.clock, share)
    return this.#collect(this.#collector, share)
  }

  async #collect(collector: BodyCollector, share: BodyShare): Promise<RequestBody> {
    try {
      return parseBytes(await collector.done)
    } finally {
      share.free()
    }
  }

  /** Ends a reading whose outcome nobody will use, and has a later one fail at once. */
  abandonBody(): void {
    this.#isAbandoned = true
    if (this.#collector?.isReading === true) this.#collector.stop(abandoned())
  }

  /** Whether too much of the body is still to come to be read off: the connection must end with the answer. */
  get mustClose(): boolean {
    if (this.#collector?.failed === true) return true
    const rest = this.#restBytes()
    return rest === undefined || rest > DRAIN_LIMIT_BYTES
  }

  /** Discards the rest of the body, so that the next request on the connection can be read. */
  discardRest(): void {
    if (this.#restBytes() !== 0) this.req.resume()
  }

  /** Whether reading began and the end of the body was not seen. */
  get isHalfRead(): boolean {
    const { req } = this
    return req.readableDidRead && !req.readableEnded && !req.complete && this.#restBytes() !== 0
  }

  /** Bytes of the body that have not arrived; undefined if unknown. */
  #restBytes(): number | undefined {
    const req = this.req
    if (req.complete) return 0
    const declared = declaredBytes(req)
    // Over HTTP/1 a body of unknown length says so in its head; over HTTP/2 it need not.
    if (declared === undefined) return req.httpVersionMajor < 2 && !isChunked(req) ? 0 : undefined
    const received = this.#collector?.receivedBytes ?? this.#receivedBytes
    return Math.max(0, declared - received - req.readableLength)
  }

  /** Returns the whole body if it came with the head, as small ones do: no listener, no timer. */
  #readArrived(declared: number): Buffer | undefined {
    // If the host has set an encoding, the length is in characters.
    if (this.req.readableEncoding !== null || this.req.readableLength < declared) return undefined
    // Not told how much, it gives one piece from Node 26 on.
    const bytes: Buffer | null = this.req.read(declared)
    this.#receivedBytes = declared
    return bytes ?? Buffer.alloc(0)
  }

  #takeParsed(): RequestBody {
    const { req, settings } = this
    const isHalfRead = req._body !== true && !req.readableEnded
    const body = isHalfRead ? undefined : req.body
    if (typeof body === 'string' || body instanceof Uint8Array) {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body
      if (bytes.length > settings.limits.bodyBytes) throw tooLarge(settings.limits.bodyBytes)
      return parseBytes(bytes)
    }
    if (body === undefined || (body === null && !mayBeNull(req))) {
      settings.onBodyConsumed(this.requestId)
      throw asCompatError(new Error('Another middleware has consumed the request body.'))
    }
    return { value: checkJsonValue(body) }
  }
}

/** Some parsers leave null of a body that they did not parse, too. */
function mayBeNull(req: HostRequest): boolean {
  return req._body === true || declaredBytes(req) === 'null'.length
}

function abandoned(): CompatError {
  return new CompatError('invalid_request', 'The request ended before its body was read.')
}

function parseBytes(bytes: Uint8Array): RequestBody {
  if (bytes.length === 0) {
    throw new CompatError('invalid_json', 'The request body is empty; send a JSON object.')
  }
  return parseJsonBody(bytes)
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
