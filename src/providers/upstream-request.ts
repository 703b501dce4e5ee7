import type { ProviderCall, ProviderEvent } from '../contracts/providers.js'
import type { ReplyReader } from './reply-reader.js'

export interface UpstreamCall {
  /** One of the upstream's endpoints, appended to its base URL. */
  readonly endpoint: string
  /** The call's own headers, including its credential. Fixed headers are added; none of these may be among them. */
  readonly headers: Readonly<HeaderList>
  /** Whether the credential is a caller's. If so, the host's credentials in the fixed headers are not sent. */
  readonly onCallersKey: boolean
  /** JSON text, or its bytes. */
  readonly body: string | Buffer
  /** Whether the request asks for a stream. */
  readonly stream: boolean
  readonly limits: ProviderCall['limits']
  readonly signal: AbortSignal
  /** Sent as headers that have the names of its fields. They replace fixed ones. */
  readonly trace?: ProviderCall['trace']
  /** Must be new for each call. */
  readonly reader: ReplyReader
  readonly take: (events: readonly ProviderEvent[]) => void | Promise<void>
  /** Returns the call to send instead after this failure, or undefined if the failure stands. Must not throw. */
  readonly instead?: ((failure: unknown) => UpstreamCall | undefined) | undefined
}

/** Alternating names and values, the form in which undici accepts headers fastest. */
export type HeaderList = string[]
