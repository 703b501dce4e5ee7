import { CompatError } from '../base/errors.js'
import type { BodyShare } from '../hosts/body-budget.js'
import { checkBodyType } from '../hosts/body-type.js'
import { BodyCollector, tooLarge, tooSlow } from '../hosts/collect-body.js'
import type { HostedCall } from '../hosts/hosted.js'
import { queryOf } from '../hosts/match.js'
import {
  abandoned,
  bodyConsumed,
  type CallTools,
  declaredBytes,
  parseBytes,
  takeRead,
} from '../hosts/received-body.js'
import type { ReceivedBody } from '../protocol/request-body.js'
import { discardRest, StreamSource } from './stream-source.js'

/**
 * A body of at most this length is read at once, which takes a third of the time of a stream. Its silence cannot be
 * noticed, so it has the time of a whole body.
 */
const SMALL_BYTES = 16 * 1024

/** A web `Request`. */
export class FetchCall implements HostedCall {
  readonly method: string
  /** Whether the page that sent the request may read the reply, even if it is not an error. */
  isOriginAllowed = false
  /**
   * Whether the body is being read, or was read to its end in this turn of the event loop. Some hosts abort the signal of
   * a request when its body has been read.
   */
  isReading = false
  /** Called if the client left while its body was being read. */
  onLost: (() => void) | undefined
  private isAbandoned = false
  private hasRead = false
  private collector: BodyCollector | undefined
  /** Ends the reading of a small body. */
  private stopReading: ((error: CompatError) => void) | undefined

  /** `body`: what the host has made of the body, if it has read it. */
  constructor(
    readonly requestId: string,
    private readonly request: Request,
    private readonly body: unknown,
    private readonly tools: CallTools,
  ) {
    this.method = request.method
  }

  header(name: string): string | undefined {
    return this.request.headers.get(name) ?? undefined
  }

  get wholeTarget(): string {
    return this.request.url
  }

  // A host that has stripped a part of the path keeps no trace of it.
  get isStripped(): boolean {
    return false
  }

  get query(): string {
    return queryOf(this.request.url)
  }

  /** `Headers` joins lines by a comma, which no token contains. */
  get authorizationLines(): number {
    const authorization = this.header('authorization')
    if (authorization === undefined) return 0
    return authorization.includes(',') ? 2 : 1
  }

  allowOrigin(): void {
    this.isOriginAllowed = true
  }

  keepBody(): boolean {
    return true
  }

  async readBody(account: string, admit: (bytes: number) => void = () => {}): Promise<ReceivedBody> {
    if (this.isAbandoned) throw abandoned()
    const { request, tools } = this
    const isReadByHost = this.body !== undefined
    checkBodyType(this, isReadByHost)
    if (isReadByHost) return takeRead(this.body, this, tools)
    if (request.bodyUsed) throw bodyConsumed(this.requestId, tools)
    const { bodyBytes } = tools.sizes
    const declared = declaredBytes(this)
    if (declared !== undefined && declared > bodyBytes) throw tooLarge(bodyBytes)
    const isSmall = declared !== undefined && declared <= SMALL_BYTES
    tools.budget.checkRoomFor(declared ?? 0, account)
    const share = tools.budget.open(account)
    this.isReading = true
    try {
      const bytes = isSmall ? await this.readSmall(declared, share) : await this.readStream(declared, share)
      share.free()
      admit(bytes.length)
      return parseBytes(bytes, tools)
    } finally {
      share.free()
      setImmediate(() => {
        this.isReading = false
      })
    }
  }

  /** Reads a body whose length the host has checked. */
  private readSmall(declared: number, share: BodyShare): Promise<Uint8Array> {
    const {
      clock,
      timeouts: { bodyMs },
    } = this.tools
    const refusal = share.take(declared)
    if (refusal !== undefined) throw refusal
    this.hasRead = true
    return new Promise((resolve, reject) => {
      const cancelTimer = clock.after(bodyMs, () => this.stopReading?.(tooSlow(bodyMs)))
      const end = (): void => {
        cancelTimer()
        this.stopReading = undefined
      }
      this.stopReading = (error) => {
        end()
        reject(error)
      }
      this.request.arrayBuffer().then(
        (buffer) => {
          end()
          resolve(new Uint8Array(buffer))
        },
        (error) => {
          end()
          reject(this.failure(error))
        },
      )
    })
  }

  private readStream(declared: number | undefined, share: BodyShare): Promise<Uint8Array> {
    const { clock, sizes, timeouts } = this.tools
    const { body } = this.request
    if (body === null) return Promise.resolve(new Uint8Array())
    if (body.locked) throw bodyConsumed(this.requestId, this.tools)
    this.hasRead = true
    const source = new StreamSource(body, (error) => this.failure(error))
    this.collector = new BodyCollector(source, declared, timeouts, sizes.bodyBytes, clock, share)
    return this.collector.done
  }

  /** What it means that a body could not be read: its client left, somebody else reads it, or it is too long for the host. */
  private failure(error: unknown): CompatError {
    if (this.request.signal.aborted) this.onLost?.()
    if (this.isAbandoned) return abandoned()
    if (error instanceof TypeError) return bodyConsumed(this.requestId, this.tools)
    return new CompatError('request_too_large', 'The request body could not be read to its end.', {
      cause: error,
    })
  }

  /** Stops reading the body, since nobody will use it, and discards the rest of it. A later read fails at once. */
  abandonBody(): void {
    if (this.isAbandoned) return
    this.isAbandoned = true
    this.stopReading?.(abandoned())
    if (this.collector?.isReading === true) this.collector.stop(abandoned())
    const hasBody = this.method !== 'GET' && this.method !== 'HEAD'
    if (!hasBody || this.hasRead || this.body !== undefined || this.request.bodyUsed) return
    const { body } = this.request
    if (body !== null && !body.locked) discardRest(body.getReader())
  }
}
