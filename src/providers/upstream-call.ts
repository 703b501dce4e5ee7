import type { ProviderCall, ProviderEvent } from '../contracts/providers.js'
import type { ReplyReader } from './reply-reader.js'

export interface UpstreamCall {
  /** One of the endpoints of the upstream, below its base URL. */
  readonly endpoint: string
  /** The call's own headers, its credential among them. Fixed ones are added, and none of these may be among them. */
  readonly headers: Readonly<HeaderList>
  /** Whether the credential among them is a caller's: the host's among the fixed headers stay out then. */
  readonly onCallersKey: boolean
  /** JSON text, or its bytes. */
  readonly body: string | Buffer
  /** Whether a stream is asked for. */
  readonly stream: boolean
  readonly limits: ProviderCall['limits']
  readonly signal: AbortSignal
  /** Sent as the headers that its fields are named after, in place of fixed ones. */
  readonly trace?: ProviderCall['trace']
  /** Fresh for each call. */
  readonly reader: ReplyReader
  readonly take: (events: readonly ProviderEvent[]) => void | Promise<void>
  /** Returns the call to send instead after this failure, or undefined if the failure stands. Must not throw. */
  readonly instead?: ((failure: unknown) => UpstreamCall | undefined) | undefined
}

/** Names and values in turn, which is how undici takes headers fastest. */
export type HeaderList = string[]
