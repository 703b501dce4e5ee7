import type { Plan, Reply, ReplyEvent } from '../../contracts/operation.js'
import type { ProviderEvent } from '../../contracts/providers.js'
import { isObject } from '../../protocol/json-values.js'
import { isCount } from '../../protocol/usage.js'
import { NO_BYTES, plus, type WireBytes } from '../../protocol/wire-bytes.js'
import type { UsageMeter } from '../charging/usage-meter.js'

type UsageEvent = Exclude<ProviderEvent, ReplyEvent>

/**
 * Passes the events of an adapter to a reply, except for usage. That is counted as of the event at which it came: the
 * reply first gets the events before it.
 */
export class ReplyFeed {
  /** Whether the provider has reported output tokens. */
  hasCountedOutput = false

  constructor(
    private readonly reply: Pick<Reply, 'failure' | 'finished' | 'take' | 'tokenEvents'>,
    private readonly meter: UsageMeter,
    private readonly plan: Pick<Plan, 'usageToCharge'>,
  ) {}

  /**
   * Accepts the events of one network read.
   *
   * @returns the bytes to send now. After a failure of the reply they still include the events before it
   */
  take(events: readonly ProviderEvent[]): WireBytes {
    if (areWithoutUsage(events)) return this.pass(events)
    let sent = NO_BYTES
    let before: ReplyEvent[] = []
    for (const event of events) {
      if (!isUsage(event)) {
        before.push(event)
        continue
      }
      sent = plus(sent, this.pass(before))
      before = []
      // Nothing after a failure is read.
      if (this.reply.failure !== undefined) return sent
      this.count(event)
    }
    return plus(sent, this.pass(before))
  }

  private pass(events: readonly ReplyEvent[]): WireBytes {
    if (events.length === 0) return NO_BYTES
    const { reply } = this
    const tokens = reply.tokenEvents
    const sent = reply.take(events)
    if (reply.tokenEvents !== tokens) this.meter.token()
    return sent
  }

  private count({ final = false, usage }: UsageEvent): void {
    const { completion } = usage
    if (isCount(completion) && completion > 0) this.hasCountedOutput = true
    this.meter.snapshot(this.plan.usageToCharge?.(usage) ?? usage, this.reply.finished, final)
  }
}

function areWithoutUsage(events: readonly ProviderEvent[]): events is readonly ReplyEvent[] {
  for (const event of events) if (isUsage(event)) return false
  return true
}

/** A host's own adapter may pass any value. The reply refuses values that are not events, and usage without counts. */
function isUsage(event: ProviderEvent): event is UsageEvent {
  return event?.type === 'usage' && isObject(event.usage)
}
