import type { IncomingMessage } from 'node:http'
import type { Clock } from '../base/clock.js'
import { CompatError } from '../base/errors.js'
import type { Timeouts } from '../contracts/limits.js'
import { GatheredBytes } from '../protocol/gathered-bytes.js'
import type { BodyShare } from './body-budget.js'

export function tooLarge(limitBytes: number): CompatError {
  return new CompatError(
    'request_too_large',
    `The request body is larger than the limit of ${limitBytes} bytes.`,
  )
}

/**
 * Reads a whole body, within the limits of size and time. The caller frees its share of the budget. If the client leaves,
 * the caller must also call `stop`, because an aborted request may emit no event.
 */
export class BodyCollector {
  readonly done: Promise<Buffer>
  /** Whether reading ended before the end of the body. */
  failed = false
  receivedBytes = 0
  private readonly gathered = new GatheredBytes()
  private readonly startedAt: number
  private lastAt: number
  private cancelTimer: () => void
  private resolve!: (bytes: Buffer) => void
  private reject!: (error: unknown) => void

  /** The caller has checked `declaredBytes` against `maxBytes`. */
  constructor(
    private readonly req: IncomingMessage,
    private readonly declaredBytes: number | undefined,
    private readonly timeouts: Timeouts,
    private readonly maxBytes: number,
    private readonly clock: Clock,
    private readonly share: BodyShare,
  ) {
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    this.startedAt = clock.now()
    this.lastAt = this.startedAt
    this.cancelTimer = clock.after(Math.min(timeouts.bodyIdleMs, timeouts.bodyMs), this.onTimer)
    req.on('end', this.onEnd)
    req.on('data', this.onData)
    // If the host has paused the request, a listener alone does not make it flow.
    req.resume()
  }

  get isReading(): boolean {
    return this.cancelTimer !== ended
  }

  /** Stops reading, unless it has ended. */
  stop(error: CompatError): void {
    if (this.detach()) {
      this.failed = true
      this.req.pause()
      this.reject(error)
    }
  }

  private detach(): boolean {
    if (!this.isReading) return false
    this.cancelTimer()
    this.cancelTimer = ended
    this.req.off('data', this.onData)
    this.req.off('end', this.onEnd)
    return true
  }

  // The data is a string if the host has set an encoding.
  private readonly onData = (data: Buffer | string): void => {
    const chunk = typeof data === 'string' ? Buffer.from(data, this.req.readableEncoding ?? 'utf8') : data
    this.receivedBytes += chunk.length
    this.lastAt = this.clock.now()
    const refusal = this.refusal(chunk.length)
    if (refusal === undefined) this.gathered.add(chunk)
    else this.stop(refusal)
  }

  /** Returns the reason to read no further. Otherwise counts the bytes and returns undefined. */
  private refusal(bytes: number): CompatError | undefined {
    if (this.receivedBytes > this.maxBytes) return tooLarge(this.maxBytes)
    return this.share.take(bytes)
  }

  private readonly onEnd = (): void => {
    if (this.declaredBytes !== undefined && this.receivedBytes < this.declaredBytes) {
      this.stop(new CompatError('invalid_request', 'The request body ended before it was complete.'))
    } else if (this.detach()) {
      this.resolve(this.gathered.bytes)
    }
  }

  // One timer serves both limits. It is set again only when it fires, because chunks arrive far more often.
  private readonly onTimer = (): void => {
    const now = this.clock.now()
    const idleAt = this.lastAt + this.timeouts.bodyIdleMs
    const endAt = this.startedAt + this.timeouts.bodyMs
    if (now < idleAt && now < endAt) {
      this.cancelTimer = this.clock.after(Math.min(idleAt, endAt) - now, this.onTimer)
      return
    }
    const what =
      now >= endAt
        ? `did not arrive within ${this.timeouts.bodyMs} ms`
        : `stopped arriving for ${this.timeouts.bodyIdleMs} ms`
    this.stop(new CompatError('request_timeout', `The request body ${what}; send it again.`))
  }
}

/** Replaces the function that cancels the timer once reading has ended. */
function ended(): void {}
