import type { Plan, Reply } from '../../src/contracts/operation.js'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import { ReplyFeed } from '../../src/engine/call/reply-feed.js'
import type { UsageMeter } from '../../src/engine/charging/usage-meter.js'

/** A reply that takes all events of an adapter, those with a usage included. */
export type FedReply<Made extends Reply> = Omit<Made, 'take' | 'endChoices'> & {
  take(events: readonly ProviderEvent[]): string
  endChoices(reason: 'stop' | 'length'): void
}

/** Puts the engine's feed in front of a reply. */
export function fed<Made extends Reply>(
  reply: Made,
  meter: UsageMeter,
  plan: Pick<Plan, 'usageToCharge'> = {},
): FedReply<Made> {
  const feed = new ReplyFeed(reply, meter, plan)
  const own: Pick<FedReply<Made>, 'take' | 'endChoices'> = {
    take: (events) => feed.take(events),
    endChoices: (reason) => reply.endChoices(reason, feed.hasCountedOutput),
  }
  return new Proxy(own as FedReply<Made>, {
    get(_target, name) {
      if (name in own) return Reflect.get(own, name)
      const value: unknown = Reflect.get(reply, name)
      return typeof value === 'function' ? value.bind(reply) : value
    },
  })
}
