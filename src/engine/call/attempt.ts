import type { EngineOptions } from '../../contracts/engine-options.js'
import type { ProviderCall, ProviderEvent, Route } from '../../contracts/providers.js'
import { isProviderError, ProviderError } from '../../errors.js'
import { eventError } from '../events/event-error.js'
import type { Relay } from '../relay/relay.js'
import { type AttemptEnd, type HowItEnded, howItEnded, type Interruption } from './attempt-end.js'
import { CallAbort } from './call-abort.js'
import type { ClientReply } from './client-reply.js'
import type { Watchdog, Watched } from './watchdog.js'

export interface AttemptOptions {
  readonly engine: EngineOptions
  readonly requestId: string
  readonly route: Route
  readonly relay: Relay
  readonly client: ClientReply
  readonly stream: boolean
  readonly watchdog: Watchdog
  /** The call has an `Idempotency-Key`: its reply is read on, whatever the route says, when its clients have left. */
  readonly keyed: boolean
  /** When the whole call must be over. */
  readonly deadlineAt: number
  /** Whether what has come costs as much as the hold, under `neverOverdraw`. */
  readonly holdIsSpent: (() => boolean) | undefined
}

/** One route dialled for one call: reads the provider, writes the client, and says how it ended. */
export class Attempt implements Watched {
  place = -1
  deadline = Infinity
  private readonly abort = new CallAbort()
  private readonly startedAt: number
  /** Infinity until the first byte of a reply in one body, which may take as long as the call. */
  private lastByteAt: number
  private lastTokenAt: number
  private firstTokenAt: number | undefined
  private over = false
  private interruption: Interruption | undefined
  private tell: { ended(end: AttemptEnd): void; resolve(): void; reject(error: unknown): void } | undefined

  constructor(private readonly options: AttemptOptions) {
    this.startedAt = options.engine.clock.now()
    this.lastByteAt = options.stream ? this.startedAt : Infinity
    this.lastTokenAt = this.lastByteAt
  }

  /**
   * Calls the provider, and waits for the end of its reply or for an interruption. `ended` is told how it ended before
   * that; what it throws rejects.
   */
  run(call: Omit<ProviderCall, 'abort' | 'signal'>, ended: (end: AttemptEnd) => void): Promise<void> {
    const { client, route, watchdog } = this.options
    return new Promise((resolve, reject) => {
      this.tell = { ended, resolve, reject }
      if (client.gone) this.leave()
      watchdog.add(this)
      if (this.interruption !== undefined) {
        this.finish(false, undefined)
        return
      }
      const failed = (error: unknown): void => {
        this.finish(false, this.interruption === undefined ? this.readError(error) : undefined)
      }
      try {
        route.adapter
          .chat(this.abort.attachTo(call), this.take)
          .then((answer) => this.finish(answer?.terminated === true, undefined), failed)
      } catch (error) {
        failed(error)
      }
    })
  }

  /** The client went away: hang up if the route says so, else read on as if it had stayed. */
  leave(): void {
    const { keyed, relay, route } = this.options
    // A client under the same key may still come for the reply.
    if (keyed) return
    // Of a reply that has finished only the usage is still to come.
    if (route.onDisconnect === 'abort' && !relay.finished) this.interrupt({ why: 'left' })
    else relay.discard()
  }

  shutDown(): void {
    this.interrupt({ why: 'shutdown' })
  }

  private readonly take = (events: readonly ProviderEvent[]): void | Promise<void> => {
    if (this.over || this.interruption !== undefined) return
    const { client, engine, relay } = this.options
    const now = engine.clock.now()
    if (this.lastTokenAt === Infinity) this.lastTokenAt = now
    this.lastByteAt = now
    if (events.length === 0) return
    const tokens = relay.tokenEvents
    const wasFinished = relay.finished
    const bytes = relay.take(events)
    const broughtToken = relay.tokenEvents !== tokens
    if (broughtToken) {
      this.lastTokenAt = now
      this.firstTokenAt ??= now
    }
    const waiting = bytes === '' ? undefined : client.write(bytes)
    this.openUnreadable()
    // A provider that broke did so whatever else this read brought: nobody pays an estimate for it.
    if (relay.failure !== undefined) this.interrupt({ why: 'broken', error: relay.failure })
    // A usage alone cuts nothing off: it may be that of an error, or of a reply that is done.
    if (broughtToken && !relay.finished && this.options.holdIsSpent?.()) this.interrupt({ why: 'cut' })
    // What ends the choices is followed by little: it goes out with that, whether or not the client can take more.
    if (relay.finished && !wasFinished) return
    return waiting?.then(() => {
      this.lastByteAt = engine.clock.now()
      this.lastTokenAt = this.lastByteAt
    })
  }

  /** Looks at every deadline of the attempt. Returns when the next one may have come. */
  check(now: number): number {
    if (this.over) return Infinity
    const { client, deadlineAt, engine, stream } = this.options
    const { limits } = engine
    if (now >= deadlineAt) {
      this.interrupt({ why: 'deadline' })
      return Infinity
    }
    // A deadline that may begin to run at any moment is never looked at later than its own length.
    let due = Math.min(deadlineAt, now + limits.clientStallMs)
    if (client.blockedSince !== undefined) {
      const stalledAt = client.blockedSince + limits.clientStallMs
      if (now >= stalledAt) {
        client.drop()
        if (client.gone) this.leave()
        return now + 1
      }
      return Math.min(due, stalledAt)
    }
    const idleAt = Math.min(this.lastByteAt, now) + limits.idleMs
    const tokenAt = Math.min(this.lastTokenAt, now) + limits.tokenMs
    if (now >= idleAt || now >= tokenAt) {
      const what = now >= idleAt ? 'sent no byte' : 'sent no token'
      const error = new ProviderError('answer-timeout', `The provider ${what} in time.`)
      this.interrupt({ why: 'broken', error })
      return Infinity
    }
    due = Math.min(due, idleAt, tokenAt)
    if (stream && !client.gone) {
      if (now >= client.lastWriteAt + limits.openStreamAfterMs) client.keepAlive()
      due = Math.min(due, client.lastWriteAt + limits.openStreamAfterMs)
    }
    return due
  }

  /** Opens the stream for unreadable content, so that the error is a frame with its charge: an error status is free. */
  private openUnreadable(): void {
    const { client, relay, stream } = this.options
    if (stream && relay.unreadable !== undefined) client.openStream()
  }

  private interrupt(interruption: Interruption): void {
    if (this.over || this.interruption !== undefined) return
    this.interruption = interruption
    // Not at once, since it may come in the middle of `take`.
    queueMicrotask(() => this.finish(false, undefined))
    try {
      this.abort.abort()
    } catch (error) {
      // An adapter's listener: its fault must not keep a shutdown from the other calls.
      this.readError(error)
    }
  }

  /** What the provider says after an interruption no longer counts. */
  private finish(terminated: boolean, failed: ProviderError | undefined): void {
    if (this.over || this.tell === undefined) return
    this.over = true
    this.options.watchdog.remove(this)
    const heard = this.interruption === undefined
    try {
      this.tell.ended(this.conclude(heard && terminated, heard ? failed : undefined))
      this.tell.resolve()
    } catch (error) {
      this.tell.reject(error)
    }
  }

  /** Says how the attempt ended, once the choices of a reply that counts have been ended too. */
  private conclude(terminated: boolean, failed: ProviderError | undefined): AttemptEnd {
    const { interruption, options } = this
    const { relay } = options
    const how = howItEnded({ interruption, terminated, failed, finished: relay.finished })
    if (how.ended !== 'finished' && how.ended !== 'cut') return this.toAttemptEnd(terminated, how)
    try {
      relay.endChoices(how.ended === 'cut' ? 'length' : 'stop')
      this.openUnreadable()
    } catch (error) {
      return this.toAttemptEnd(terminated, { ended: 'broken', failure: this.readError(error) })
    }
    return this.toAttemptEnd(terminated, how)
  }

  private toAttemptEnd(terminated: boolean, { ended, failure, stoppedBy }: HowItEnded): AttemptEnd {
    return {
      ended,
      terminated,
      failure,
      stoppedBy,
      firstTokenMs: this.firstTokenAt === undefined ? undefined : this.firstTokenAt - this.startedAt,
      durationMs: this.options.engine.clock.now() - this.startedAt,
    }
  }

  /** An adapter fails with a `ProviderError`; anything else is a fault of its own, which the host is told. */
  private readError(error: unknown): ProviderError {
    if (isProviderError(error)) return error
    const { engine, requestId } = this.options
    engine.emit({ type: 'fault', where: 'adapter', requestId, error: eventError(error) })
    return new ProviderError('cut-short', 'The adapter failed.', { cause: error })
  }
}
