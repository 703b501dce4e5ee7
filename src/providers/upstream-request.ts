import type { ProviderCall, TakeEvents } from '../contracts/providers.js'
import type { HeaderList } from '../upstream/sender.js'
import type { ReplyReader } from './reply-reader.js'

/** One POST to a provider. */
export interface UpstreamRequest {
  /** With a caller's credential, the host's credentials in the fixed headers are not sent. */
  readonly call: Pick<
    ProviderCall,
    'auth' | 'fastPaths' | 'stream' | 'timeouts' | 'sizes' | 'signal' | 'trace'
  >
  /** One of the upstream's endpoints, appended to its base URL. */
  readonly endpoint: string
  /** Those of this request, with its credential. Fixed headers are added; none of these may be among them. */
  readonly headers: Readonly<HeaderList>
  /** JSON text, or its bytes. Empty once the provider has accepted it. */
  body: string | Buffer
  /** Must be new for each request. */
  readonly reader: ReplyReader
  /** The bytes of the reply that may repeat the request. They do not count as reply. 0 by default. */
  readonly repeatedBytes?: number
  readonly take: TakeEvents
  /** Returns the request to send instead after this failure. Undefined if the failure is final. Must not throw. */
  instead?: ((failure: unknown) => UpstreamRequest | undefined) | undefined
  /** Returns a final failure in other terms. Must not throw. */
  explain?: ((failure: unknown) => unknown) | undefined
}
