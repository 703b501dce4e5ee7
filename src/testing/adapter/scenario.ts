import type { Awaitable, ProviderAdapter } from '../../contracts/index.js'
import type { Usage } from '../../protocol/usage.js'

/** Opens your adapter for the cases, with a server that plays a scenario in the provider's own format. */
export interface AdapterHarness {
  /** Opens an adapter that nothing else uses, connected to a server that answers every request as `scenario` says. */
  open(scenario: AdapterScenario): Awaitable<AdapterUnderTest>
}

export interface AdapterUnderTest {
  /**
   * Has `chat` or `converse`. Configured with {@link ADAPTER_HOST_KEY} as the host's own key. If it supports additional headers, also with a
   * credential header such as `x-proxy-token` with the value {@link ADAPTER_HOST_CREDENTIAL}.
   */
  readonly adapter: ProviderAdapter
  readonly upstreamModel: string
  /** The requests that the server has fully received, oldest first. Always the same array, which grows. */
  readonly requests: readonly ReceivedRequest[]
  /** Resolves with the first request when it arrives. */
  readonly firstRequest: Promise<ReceivedRequest>
  /** Returns the number of reply bytes that the operating system has accepted from the server so far. */
  sentBytes(): number
  close(): Awaitable<void>
}

export interface ReceivedRequest {
  /** The whole request as text: path, headers, body. */
  readonly text: string
  /** Resolves when the adapter or the server has closed the request's connection. */
  readonly closed: Promise<void>
}

/** The host's key in the settings of the adapter under test. */
export const ADAPTER_HOST_KEY = 'sk-conformance-host'

/** The value of a credential header in the settings of the adapter under test. */
export const ADAPTER_HOST_CREDENTIAL = 'conformance-header-of-the-host'

/** A reply that every provider can express. If the request asks for a stream, the server sends `text` piece by piece. */
export interface ScriptedAnswer {
  readonly text: readonly string[]
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  /** `content_filter`: the provider's word for a reply that it stopped because of its content. */
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter'
  /** Normalised usage with a `cacheWrite` of 0. The server reports it in the provider's own format. */
  readonly usage: Usage
}

export type AdapterScenario =
  /**
   * A complete reply. If `isNoisy`, a stream has between its events everything meaningless that the provider's API may
   * send there: comments, keep-alive events, events of types that do not exist yet.
   */
  | { readonly kind: 'answer'; readonly answer: ScriptedAnswer; readonly isNoisy?: boolean }
  /** An HTTP error status, with `message`, and if given its machine-readable `code`, in the provider's error body. */
  | {
      readonly kind: 'status'
      readonly status: number
      readonly message: string
      readonly code?: string
      readonly retryAfterSeconds?: number
    }
  /** The pieces of text, then an error inside the stream. */
  | { readonly kind: 'error-frame'; readonly text: readonly string[]; readonly message: string }
  /**
   * The pieces of text, then the end without a finish reason or the provider's end marker: either the connection is
   * `broken`, or the body has `ended` regularly. If no stream is requested, half of a JSON body.
   */
  | { readonly kind: 'cut-short'; readonly text: readonly string[]; readonly how: 'broken' | 'ended' }
  /** The pieces of text and then silence. Without pieces, not even a status line. */
  | { readonly kind: 'silence'; readonly text: readonly string[] }
  /** A complete reply whose text is `piece`, repeated `times` times, written as fast as the operating system accepts it. */
  | { readonly kind: 'flood'; readonly piece: string; readonly times: number }
  /** Status 200 with an invalid reply: a body, or a stream event, that is not JSON. */
  | { readonly kind: 'nonsense' }
  /** Nothing listens on the port. */
  | { readonly kind: 'unreachable' }
