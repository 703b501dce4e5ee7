import type { Message } from './call-body.js'
import type { Reply } from './reply-reader.js'

/** A message, or a reply that is arriving. */
export interface Turn {
  readonly number: number
  readonly message: Message
  /** Set only for a reply. */
  readonly reply?: Reply
  readonly state: 'sent' | 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed'
  /** Absent until the call is sent. */
  readonly requestId?: string
  /** The call was stopped or its connection broke, so its reply did not report the charge. */
  readonly isChargeUnreported?: boolean
  /** `isChargeUnreported`, and the charge could not be found in time. */
  readonly isChargeLate?: boolean
  /** The account that pays; absent if the page does not know it. */
  readonly account?: string
  readonly startedAt?: number
  readonly firstTokenMs?: number
  readonly durationMs?: number
}
