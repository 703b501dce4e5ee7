import type { ProviderCall, ProviderEvent, Route } from '../../contracts/providers.js'
import { isProviderError, ProviderError } from '../../errors.js'
import { eventError } from '../events/event-error.js'
import type { EngineOptions } from '../options.js'
import type { Relay } from '../relay/relay.js'
import { type AttemptEnd, type HowItEnded, howItEnded, type Interruption } from './attempt-end.js'
import { CallAbort } from './call-abort.js'
import type { ClientReply } from './client-reply.js'
import { Drain } from './drain.js'
import type { DrainSlots } from './drain-slots.js'
import type { Watchdog, Watched } from './watchdog.js'

export interface AttemptOptions {
  readonly engine: EngineOptions
  readonly requestId: string
  readonly route: Route
  readonly relay: Relay
  readonly client: ClientReply
  readonly stream: boolean
  readonly drains: DrainSlots
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
  private lastByteAt: number
  private lastTokenAt: number
  private firstTokenAt: number | undefined
  private over = false
  private interruption: Interruption | undefined
  private tell: { ended(end: AttemptEnd): void; resolve(): void; reject(error: unknown): void } | undefined
  private drain: Drain | undefined

  constructor(private readonly options: AttemptOptions) {
    this.startedAt = options.engine.clock.now()
    this.lastByteAt = this.startedAt
    this.lastTokenAt = this.startedAt
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

  /** The client went away: read on, or hang up, as the route and the caps say. */
  leave(): void {
    if (this.over || this.drain !== undefined) return
    const { drains, engine, keyed, relay, route } = this.options
    const readOn = keyed || route.onDisconnect !== 'abort'
    const freeSlot = readOn ? drains.take() : undefined
    // Of a reply that has finished only the usage is still to come: it needs no slot.
    if (freeSlot === undefined && !relay.finished) this.interrupt({ why: 'left' })
    else {
      const { drainBytes, drainMs } = engine.limits
      this.drain = new Drain(engine.clock.now() + drainMs, drainBytes, freeSlot)
    }
  }

  shutDown(): void {
    this.interrupt({ why: 'shutdown' })
  }

  /** A client under the same `Idempotency-Key` has come: the reply is read for it, not drained. */
  private stay(): void {
    this.drain?.end()
    this.drain = undefined
  }

  private readonly take = (events: readonly ProviderEvent[]): void | Promise<void> => {
    if (this.over || this.interruption !== undefined) return
    const { client, engine, relay } = this.options
    const now = engine.clock.now()
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
    // A provider that broke did so whatever else this read brought: nobody pays an estimate for it.
    if (relay.failure !== undefined) this.interrupt({ why: 'broken', error: relay.failure })
    // A usage alone cuts nothing off: it may be that of an error, or of a reply that is done.
    if (broughtToken && !relay.finished && this.options.holdIsSpent?.()) this.interrupt({ why: 'cut' })
    if (this.drain !== undefined) {
      if (!client.gone) this.stay()
      else if (!this.drain.take(events)) this.interrupt({ why: 'left' })
    }
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
    if (this.drain !== undefined && !client.gone) this.stay()
    const drainUntil = this.drain?.until ?? Infinity
    if (now >= drainUntil) {
      this.interrupt({ why: 'left' })
      return Infinity
    }
    // A deadline that may begin to run at any moment is never looked at later than its own length.
    let due = Math.min(deadlineAt, drainUntil, now + limits.drainMs, now + limits.clientStallMs)
    if (client.blockedSince !== undefined) {
      const stalledAt = client.blockedSince + limits.clientStallMs
      if (now >= stalledAt) {
        client.drop()
        if (client.gone) this.leave()
        return now + 1
      }
      return Math.min(due, stalledAt)
    }
    const idleAt = this.lastByteAt + limits.idleMs
    const tokenAt = this.lastTokenAt + limits.tokenMs
    if (now >= idleAt || now >= tokenAt) {
      const what = now >= idleAt ? 'sent no byte' : 'sent no token'
      this.interrupt({ why: 'broken', error: new ProviderError('timeout', `The provider ${what} in time.`) })
      return Infinity
    }
    due = Math.min(due, idleAt, tokenAt)
    if (stream && !client.gone) {
      if (now >= client.lastWriteAt + limits.openStreamAfterMs) client.keepAlive()
      due = Math.min(due, client.lastWriteAt + limits.openStreamAfterMs)
    }
    return due
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
    this.drain?.end()
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
