import type { Message } from './call-body.js'
import type { Reply } from './reply-reader.js'

/** One thing that was said, or a reply that is coming in. */
export interface Turn {
  readonly number: number
  readonly message: Message
  /** Of a reply alone. */
  readonly reply?: Reply
  readonly state: 'sent' | 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed'
  /** Absent until the call is sent. */
  readonly requestId?: string
  /** It was stopped or its connection broke, so that its answer did not tell what it was charged. */
  readonly isUntold?: boolean
  /** It is untold, and nothing else told it in time. */
  readonly isChargeLate?: boolean
  /** Who pays; absent if the page does not know. */
  readonly account?: string
  readonly startedAt?: number
  readonly firstTokenMs?: number
  readonly durationMs?: number
}
