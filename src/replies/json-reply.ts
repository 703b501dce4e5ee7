import { isProviderError, ProviderError } from '../base/errors.js'
import type { Reply, ReplyEvent } from '../contracts/operation.js'
import type { WholeReply } from '../contracts/reply.js'
import type { JsonObject } from '../protocol/json-values.js'
import { NO_BYTES, type WireBytes } from '../protocol/wire-bytes.js'
import type { WireCharge } from '../protocol/wire-usage.js'
import { MendBook } from './mends.js'

/** A reply that is never streamed, for operations without streams. */
export abstract class JsonReply implements Reply {
  failure: ProviderError | undefined
  upstreamId: string | undefined
  readonly unreadable = undefined
  readonly gaveReason = false
  readonly finishReason = undefined
  readonly nativeFinishReason = undefined
  private hasArrived = false
  private book: MendBook | undefined

  /** The approximate memory of what {@link read} keeps. */
  abstract readonly keptBytes: number

  /** Returns the reply as JSON. */
  abstract body(charge: WireCharge): WholeReply

  /** Reads the provider's reply. Throws {@link unreadable} if it is invalid. */
  protected abstract read(completion: JsonObject): void

  get mends(): Reply['mends'] {
    return this.book?.kinds
  }

  get begun(): boolean {
    return this.hasArrived
  }

  get finished(): boolean {
    return this.hasArrived
  }

  get tokenEvents(): number {
    return this.hasArrived ? 1 : 0
  }

  take(events: readonly ReplyEvent[]): WireBytes {
    for (const event of events) {
      if (this.failure !== undefined) break
      try {
        this.takeEvent(event)
      } catch (error) {
        this.failure = isProviderError(error) ? error : unreadable('an event cannot be read', error)
      }
    }
    return NO_BYTES
  }

  completionAtLeast(): number {
    return 0
  }

  discard(): void {}

  endChoices(): void {}

  closing(): WireBytes {
    throw new Error('This reply is not streamed.')
  }

  failing(): WireBytes {
    throw new Error('This reply is not streamed.')
  }

  private takeEvent(event: ReplyEvent): void {
    if (event.type === 'completion') {
      this.read(event.completion as JsonObject)
      this.hasArrived = true
    } else if (event.type === 'mended') {
      this.book ??= new MendBook()
      this.book.add(event.kind, event.dropped)
    } else throw unreadable(event.type === 'unreadable' ? event.why : `it has an event of type ${event.type}`)
  }
}

/** Returns the error for a provider's reply that cannot be read. `why` must not quote the reply. */
export function unreadable(why: string, cause?: unknown): ProviderError {
  return new ProviderError('invalid-response', `The reply cannot be read: ${why}.`, { cause })
}
