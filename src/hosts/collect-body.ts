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

/** Returns the error of a body that took longer than it may. */
export function tooSlow(limitMs: number): CompatError {
  return timeout(`did not arrive within ${limitMs} ms`)
}

function timeout(what: string): CompatError {
  return new CompatError('request_timeout', `The request body ${what}; send it again.`)
}

/** What takes the pieces of a body. */
export interface BodySink {
  take(piece: Buffer): void
  /** The body has ended. */
  end(): void
  /** Stops reading, unless it has ended. */
  stop(error: CompatError): void
}

/** Where a body comes from. */
export interface BodySource {
  /** Begins to read. */
  start(sink: BodySink): void
  /** Tells the sink nothing more. */
  detach(): void
  /** Reads nothing more for now. The body has not ended. */
  pause(): void
}

/**
 * Reads a whole body, within the limits of size and time. The caller frees its share of the budget. If the client leaves,
 * the caller must also call `stop`, because an aborted request may emit no event.
 */
export class BodyCollector implements BodySink {
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
    private readonly source: BodySource,
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
    source.start(this)
  }

  get isReading(): boolean {
    return this.cancelTimer !== ended
  }

  stop(error: CompatError): void {
    if (this.detach()) {
      this.failed = true
      this.source.pause()
      this.reject(error)
    }
  }

  private detach(): boolean {
    if (!this.isReading) return false
    this.cancelTimer()
    this.cancelTimer = ended
    this.source.detach()
    return true
  }

  take(piece: Buffer): void {
    this.receivedBytes += piece.length
    this.lastAt = this.clock.now()
    const refusal = this.refusal(piece.length)
    if (refusal === undefined) this.gathered.add(piece)
    else this.stop(refusal)
  }

  /** Returns the reason to read no further. Otherwise counts the bytes and returns undefined. */
  private refusal(bytes: number): CompatError | undefined {
    if (this.receivedBytes > this.maxBytes) return tooLarge(this.maxBytes)
    return this.share.take(bytes)
  }

  end(): void {
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
    const { bodyIdleMs, bodyMs } = this.timeouts
    this.stop(now >= endAt ? tooSlow(bodyMs) : timeout(`stopped arriving for ${bodyIdleMs} ms`))
  }
}

/** Replaces the function that cancels the timer once reading has ended. */
function ended(): void {}
