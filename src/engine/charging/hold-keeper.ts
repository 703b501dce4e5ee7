import type { EngineOptions } from '../../contracts/engine-options.js'
import { LazyContext } from '../asking/lazy-context.js'
import { within } from '../asking/within.js'

/** How often this process checks whether it was suspended. */
const PULSE_MS = 1_000
/** The time after which a ledger that failed is asked again. */
const RETRY_MS = 1_000

/**
 * Tells a shared ledger that this process is alive, so that its holds are kept. Notices if the process was suspended,
 * for example in a paused machine: its holds may then be lost, and are taken again before more is sent.
 *
 * A ledger that does not answer is asked again. No call waits for it longer than `storeMs`.
 */
export class HoldKeeper {
  /** The name under which the ledger takes holds. Undefined if the ledger keeps no names, or has not answered yet. */
  holder: string | undefined
  private firstHolder: string | undefined
  private silentMs = Infinity
  /** When the pulse last fired, or the holds were last confirmed. */
  private awakeAt: number
  /** When to ask the ledger next. */
  private dueAt = -Infinity
  private asking: Promise<void> | undefined
  private confirming: Promise<void> | undefined
  private asked = 0
  private answered = 0
  private hasEnded = false
  private cancelTimer = (): void => {}

  /** @param renewAll takes all lost holds again. Must not reject */
  constructor(
    private readonly options: Pick<EngineOptions, 'clock' | 'ledger' | 'timeouts'>,
    private readonly renewAll: () => Promise<unknown>,
  ) {
    this.awakeAt = options.clock.now()
  }

  /** Does nothing for a ledger that does not track holders. */
  start(): void {
    if (typeof this.options.ledger.keepHolds === 'function') this.pulse()
  }

  /** Returns whether a hold taken under this name is still kept, as far as is known. */
  isKept(holder: string | undefined): boolean {
    return (holder ?? this.firstHolder) === this.holder
  }

  /** Returns whether this process was suspended for so long that its holds must be confirmed before more is sent. */
  mayBeLost(now: number): boolean {
    return this.confirming !== undefined || now - this.awakeAt > this.silentMs / 2
  }

  /** Settles when the holds are confirmed, taken again or refused, or when the ledger does not answer. */
  confirm(): Promise<void> {
    this.awakeAt = this.options.clock.now()
    this.confirming ??= this.ask().finally(() => {
      this.confirming = undefined
    })
    return this.confirming
  }

  /** Settles when nothing more is asked of the ledger. */
  async end(): Promise<void> {
    this.hasEnded = true
    this.cancelTimer()
    await this.confirming
    await this.asking
  }

  private readonly pulse = (): void => {
    const now = this.options.clock.now()
    if (this.mayBeLost(now)) void this.confirm()
    else if (this.asking === undefined && now >= this.dueAt) {
      this.asking = this.ask().finally(() => {
        this.asking = undefined
      })
    }
    this.awakeAt = now
    this.setTimer()
  }

  private setTimer(): void {
    this.cancelTimer()
    if (this.hasEnded) return
    const { clock } = this.options
    const dueMs = this.dueAt - clock.now()
    this.cancelTimer = clock.after(dueMs > 0 ? Math.min(dueMs, PULSE_MS) : PULSE_MS, this.pulse, 'background')
  }

  private async ask(): Promise<void> {
    const { clock, ledger, timeouts } = this.options
    const number = ++this.asked
    const context = new LazyContext('hold-keeper')
    let nextMs = RETRY_MS
    try {
      const { everyMs, holder, silentMs } = await within(clock, timeouts.storeMs, ledger.keepHolds!(context))
      nextMs = everyMs
      // An answer from before the suspension may arrive last.
      if (number > this.answered) {
        this.answered = number
        this.firstHolder ??= holder
        this.holder = holder
        this.silentMs = silentMs
      }
      await this.renewAll()
    } catch {
      context.end()
    }
    this.dueAt = clock.now() + nextMs
    this.setTimer()
  }
}
