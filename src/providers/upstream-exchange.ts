import { onceAborted } from '../base/call-abort.js'
import { systemClock } from '../base/clock.js'
import { isProviderError, ProviderError, replyTooLong } from '../base/errors.js'
import type { TurnGate } from '../base/turn-gate.js'
import type { ProviderEvent } from '../contracts/providers.js'
import { connectionError, isLostConnection } from '../upstream/connection-error.js'
import type { Connection, HeaderList, Receiver, Sender, SentRequest } from '../upstream/sender.js'
import {
  BodyDecoder,
  type Compression,
  decodeWhole,
  mayBeCompressed,
  readContentEncoding,
} from './content-encoding.js'
import { HandOver } from './hand-over.js'
import { statusError } from './upstream-errors.js'
import type { UpstreamRequest } from './upstream-request.js'

const ERROR_BODY_BYTES = 64 * 1024
/** The time limit for the body of an error, whose status already says enough. */
const ERROR_BODY_MS = 1_000
/** The bytes and the time for which a body may continue after its end was signalled. Then its connection is closed. */
const TAIL_BYTES = 64 * 1024
const TAIL_MS = 1_000
/** A longer body is given to the sender as bytes. */
const LONG_BODY = 64 * 1024
/** Tells the sender to continue. */
const GO_ON = true
const NO_EVENTS: readonly ProviderEvent[] = Object.freeze([])

interface ErrorReply {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly compression: Compression | undefined
  readonly pieces: Buffer[]
}

/**
 * One request and its reply.
 *
 * One network read may arrive in many pieces (each HTTP chunk is one), all in the same turn of the event loop. They
 * are gathered and handed over together.
 */
export class UpstreamExchange implements Receiver {
  private connection: Connection | undefined
  /**
   * Set until the call is sent. If kept longer, everything that the call was made of would survive many garbage
   * collections.
   */
  private unsent: { readonly sender: Sender; readonly options: SentRequest } | undefined
  private dispatchedAgain = false
  private events: ProviderEvent[] = []
  private bytes = 0
  /** The size of the request, which undici keeps until the reply ends. */
  private sentBytes = 0
  private errorReply: ErrorReply | undefined
  /** Set until the first byte of a body that is said to be compressed. */
  private compression: Compression | undefined
  private decoder: BodyDecoder | undefined
  /** `done`: nothing more is read, but the last events are still to be handed over. */
  private state: 'open' | 'done' | 'settled' = 'open'
  private hasReply = false
  private ended = false
  /** Whether the body has arrived, and its end is still to be read. */
  private isUnread = false
  private terminated = false
  private failure: ProviderError | undefined
  private waiting = false
  /** Ends a body if the rest of it is not needed. */
  private endBodyTimer: (() => void) | undefined
  private ignoreAbort: (() => void) | undefined
  private readonly request: UpstreamRequest
  private readonly turns: TurnGate
  private readonly handOver: HandOver
  private readonly resolve: (result: { terminated: boolean }) => void
  private readonly reject: (error: unknown) => void

  constructor(
    request: UpstreamRequest,
    turns: TurnGate,
    resolve: (result: { terminated: boolean }) => void,
    reject: (error: unknown) => void,
  ) {
    this.request = request
    this.turns = turns
    this.handOver = new HandOver(turns, () => this.deliver())
    this.resolve = resolve
    this.reject = reject
  }

  start(sender: Sender, path: string, headers: HeaderList): void {
    this.turns.enter()
    const { call } = this.request
    this.ignoreAbort = onceAborted(call, () => this.giveUp(abortedError(call.signal.reason)))
    const { body: given } = this.request
    // undici makes bytes of a text, and would keep both until the reply ends.
    const body = typeof given === 'string' && given.length > LONG_BODY ? Buffer.from(given) : given
    this.request.body = body
    const options: SentRequest = {
      path,
      method: 'POST',
      headers,
      body,
      headersTimeout: 0,
      bodyTimeout: 0,
      onConnection: (connection) => {
        this.connection = connection
      },
    }
    this.unsent = { sender, options }
    sender.dispatch(options, this)
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.unsent = undefined
    if (this.state === 'settled') abort(new Error('The call was aborted before it was sent.'))
    else this.connection?.begin()
  }

  onHeaders(status: number, headers: Buffer[]): true {
    if (status >= 200 && this.state === 'open') this.readHead(status, headers)
    // Each header is a view that keeps the whole read alive, and undici's list of headers outlives the reply.
    headers.length = 0
    return GO_ON
  }

  private readHead(status: number, headers: readonly Buffer[]): void {
    this.hasReply = true
    const { compression, ignored, isUnknown } = readContentEncoding(valuesOf('content-encoding', headers))
    if (status >= 400) {
      const retryAfter = valuesOf('retry-after', headers)[0]
      const reply: ErrorReply = { status, retryAfter, compression, pieces: [] }
      this.errorReply = reply
      if (isUnknown) this.fail(this.statusError(reply))
      else this.setBodyTimer(ERROR_BODY_MS, () => this.fail(this.statusError(reply)))
      return
    }
    if (status >= 300) {
      const [target] = valuesOf('location', headers)
      const hint = target === undefined ? '' : ` Perhaps the base URL is wrong: it points to ${target}`
      const message = `The provider redirected the call (${status}).${hint}`
      this.fail(new ProviderError('invalid-response', message))
    } else if (isUnknown) {
      this.fail(
        new ProviderError('invalid-response', 'The provider sent an encoded reply that was not requested.'),
      )
    } else {
      // The call may last for minutes, and its request may be large. undici keeps the body, but nothing else does.
      this.sentBytes = this.request.body.length
      this.request.body = ''
      this.request.instead = undefined
      this.request.explain = undefined
      this.compression = compression
      for (const word of ignored) this.events.push(mended('encoding-ignored', word))
      this.reportProgress()
    }
  }

  /** A JSON reply may take as long as the call, so bytes that only keep its connection alive do not begin it. */
  private reportProgress(): void {
    const { call, reader } = this.request
    if (call.stream || reader.hasBegun) this.handOver.soon()
  }

  onData(bytes: Buffer): true {
    if (this.compression !== undefined && bytes.length > 0) this.openDecoder(this.compression, bytes[0]!)
    if (this.decoder === undefined || this.state !== 'open') this.readBytes(bytes)
    // The bytes belong to undici, and the decoder reads them later.
    else this.decoder.write(Buffer.from(bytes))
    return GO_ON
  }

  private openDecoder(compression: Compression, firstByte: number): void {
    this.compression = undefined
    if (this.state !== 'open' || !mayBeCompressed(compression, firstByte)) return
    this.events.push(mended('encoding-decoded'))
    this.decoder = new BodyDecoder({
      compression,
      onBytes: (bytes) => this.readBytes(bytes),
      onEnd: () => this.endBody(),
      onFailure: (failure) => this.fail(failure),
    })
  }

  private readBytes(bytes: Buffer): void {
    this.bytes += bytes.length
    this.handOver.read(bytes.length)
    if (this.state !== 'open') {
      if (this.bytes > TAIL_BYTES) this.hangUp('The reply continued after its end.')
      return
    }
    if (this.errorReply !== undefined) {
      this.errorReply.pieces.push(bytes)
      if (this.bytes >= ERROR_BODY_BYTES) this.fail(this.statusError(this.errorReply))
      return
    }
    const { call, reader, repeatedBytes = 0 } = this.request
    if (this.bytes > call.sizes.replyBytes + repeatedBytes) {
      this.fail(replyTooLong(call.sizes.replyBytes))
      return
    }
    try {
      if (reader.read(bytes, this.events)) {
        this.terminated = true
        this.state = 'done'
        this.bytes = 0
      }
      this.reportProgress()
    } catch (error) {
      this.fail(asProviderError(error))
    }
  }

  onComplete(): void {
    // Answered before the whole request was sent. Another request would be sent behind the rest, and might never be
    // read.
    if (this.connection?.isSending === true) this.hangUp('The reply came before the whole request was sent.')
    this.ended = true
    this.endBodyTimer?.()
    if (this.state !== 'open') return
    if (this.errorReply !== undefined) {
      this.fail(this.statusError(this.errorReply))
      return
    }
    if (this.decoder === undefined) this.endBody()
    else this.decoder.end()
  }

  private endBody(): void {
    if (this.state !== 'open') return
    this.state = 'done'
    this.isUnread = true
    this.handOver.last()
  }

  /**
   * Reads the end of a body only when its events can be handed over. So one body at a time is parsed, which takes several
   * times the memory of its text.
   */
  private readEnd(): void {
    this.isUnread = false
    try {
      this.terminated = this.request.reader.end(this.events)
    } catch (error) {
      this.fail(asProviderError(error))
    }
  }

  onError(error: Error): void {
    const unsent = this.unsent
    if (unsent !== undefined && this.state === 'open' && !this.dispatchedAgain && isLostConnection(error)) {
      this.dispatchedAgain = true
      // Not within undici's own handling of the error: it asserts that its queue is empty then.
      setImmediate(() => {
        if (this.state === 'open') unsent.sender.dispatch(unsent.options, this)
      })
      return
    }
    this.ended = true
    this.endBodyTimer?.()
    if (this.state !== 'open') return
    this.fail(
      this.errorReply === undefined
        ? connectionError(error, unsent === undefined, this.hasReply)
        : this.statusError(this.errorReply),
    )
  }

  private statusError({ status, retryAfter, compression, pieces }: ErrorReply): ProviderError {
    const sent = Buffer.concat(pieces).subarray(0, ERROR_BODY_BYTES)
    const body = compression === undefined ? sent : decodeWhole(sent, compression, ERROR_BODY_BYTES)
    return statusError(status, body, retryAfter)
  }

  /** Ends the reply with an error. Events read before are still handed over first. */
  private fail(error: ProviderError): void {
    this.endBodyTimer?.()
    this.decoder?.close()
    this.failure = error
    this.state = 'done'
    this.hangUp(error.message)
    this.handOver.soon()
  }

  /** Closes the connection if it is still this call's. After the end of the reply, it may belong to another call. */
  private hangUp(why: string): void {
    if (this.unsent === undefined && !this.ended) this.connection?.drop(new Error(why))
  }

  private deliver(): void {
    if (this.state === 'settled' || this.waiting) return
    if (this.isUnread) this.readEnd()
    // The receiver gets its own list. Ours lives as long as the reply and must not keep events alive.
    const { events } = this
    if (events.length > 0) this.events = []
    if (this.failure !== undefined && events.length === 0) {
      this.settle()
      return
    }
    let waiting: void | Promise<void>
    try {
      const { reader, take } = this.request
      waiting = take(events.length === 0 ? NO_EVENTS : events, reader.heldBytes + this.sentBytes)
    } catch (error) {
      this.giveUp(error)
      return
    }
    if (waiting === undefined) {
      if (this.state === 'done') this.settle()
      return
    }
    this.waiting = true
    if (this.isReading) this.connection?.hold()
    this.decoder?.pause()
    waiting.then(
      () => this.onTaken(),
      (error) => this.giveUp(error),
    )
  }

  /** Whether the connection brings more of the reply. A decoder may still have data after that. */
  private get isReading(): boolean {
    return this.state === 'open' && !this.ended
  }

  private onTaken(): void {
    this.waiting = false
    // Only while the reply is being read does the connection certainly belong to this call.
    if (this.isReading) this.connection?.release()
    this.decoder?.resume()
    if (this.events.length > 0 || this.isUnread) this.handOver.now()
    else if (this.state === 'done') this.settle()
  }

  private giveUp(error: unknown): void {
    if (!this.close()) return
    this.hangUp('The reply is no longer needed.')
    this.reject(error)
  }

  private settle(): void {
    if (!this.close()) return
    if (this.failure !== undefined) {
      this.reject(this.failure)
      return
    }
    // The caller need not wait for the end of a complete body. If the body does end, its connection is reused.
    if (!this.ended) {
      this.setBodyTimer(TAIL_MS, () => this.hangUp('The reply did not end.'))
    }
    this.resolve({ terminated: this.terminated })
  }

  private setBodyTimer(ms: number, run: () => void): void {
    this.endBodyTimer = systemClock.after(ms, run, 'background')
  }

  private close(): boolean {
    if (this.state === 'settled') return false
    this.state = 'settled'
    this.endBodyTimer?.()
    this.decoder?.close()
    this.turns.leave()
    this.ignoreAbort?.()
    return true
  }
}

function mended(kind: string, dropped?: string): ProviderEvent {
  return dropped === undefined ? { type: 'mended', kind } : { type: 'mended', kind, dropped }
}

/** Returns the error of a call that was aborted for this reason. */
export function abortedError(cause: unknown): ProviderError {
  return new ProviderError('cut-short', 'The call was aborted.', { cause })
}

function asProviderError(error: unknown): ProviderError {
  if (isProviderError(error)) return error
  return new ProviderError('invalid-response', 'The reply could not be read.', { cause: error })
}

/** Returns the values of one header from a list of alternating names and values. */
function valuesOf(name: string, headers: readonly Buffer[]): string[] {
  const values: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const found = headers[index]!
    if (found.length === name.length && found.toString('latin1').toLowerCase() === name) {
      values.push(headers[index + 1]!.toString('latin1'))
    }
  }
  return values
}
