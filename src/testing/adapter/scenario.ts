import type { Awaitable, ChatAdapter } from '../../contracts/index.js'
import type { Usage } from '../../protocol/usage.js'

/** What an author of an adapter writes: a provider's server, in its own language, that does what a scenario says. */
export interface AdapterHarness {
  /** An adapter that nobody else uses, connected to a server that answers every request by `scenario`. */
  open(scenario: AdapterScenario): Awaitable<AdapterUnderTest>
}

export interface AdapterUnderTest {
  /**
   * Set up with {@link ADAPTER_HOST_KEY} as the host's own key, and if it takes headers of the host's with one that is a
   * credential, such as `x-proxy-token`, of the value {@link ADAPTER_HOST_CREDENTIAL}.
   */
  readonly adapter: ChatAdapter
  readonly upstreamModel: string
  /** The requests that the server has got whole, oldest first: one list, which grows. */
  readonly requests: readonly ReceivedRequest[]
  /** The first request, as soon as it has come. */
  readonly firstRequest: Promise<ReceivedRequest>
  /** How many bytes of a reply the system has taken from the server so far. */
  sentBytes(): number
  close(): Awaitable<void>
}

export interface ReceivedRequest {
  /** All of it as text: path, headers, body. */
  readonly text: string
  /** Fulfilled when the adapter has closed the connection that it came on, or the server has. */
  readonly closed: Promise<void>
}

/** The key that the adapter under test is set up with. */
export const ADAPTER_HOST_KEY = 'sk-conformance-host'

/** What the adapter under test sends in a header of the host's. */
export const ADAPTER_HOST_CREDENTIAL = 'conformance-header-of-the-host'

/** A reply as every provider could give it; the server streams it, piece by piece, if the request asks for that. */
export interface ScriptedAnswer {
  readonly text: readonly string[]
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly finish: 'stop' | 'length' | 'tool_calls'
  /** In the one meaning; `cacheWrite` is 0. The server says it in its provider's way. */
  readonly usage: Usage
}

export type AdapterScenario =
  /** A whole reply. */
  | { readonly kind: 'answer'; readonly answer: ScriptedAnswer }
  /** An HTTP error status, with the provider's way to put `message` in a body. */
  | {
      readonly kind: 'status'
      readonly status: number
      readonly message: string
      readonly retryAfterSeconds?: number
    }
  /** The pieces of text, then an error inside the stream. */
  | { readonly kind: 'error-frame'; readonly text: readonly string[]; readonly message: string }
  /**
   * The pieces of text, then the end without the provider's last word, nor a finish reason: the connection `broken`, or
   * the body `ended` in good order. If no stream is asked for, half of a JSON body.
   */
  | { readonly kind: 'cut-short'; readonly text: readonly string[]; readonly how: 'broken' | 'ended' }
  /** The pieces of text and then silence; without pieces not even a status line. */
  | { readonly kind: 'silence'; readonly text: readonly string[] }
  /** A whole reply whose text is this piece, so many times, written as fast as the system takes it. */
  | { readonly kind: 'flood'; readonly piece: string; readonly times: number }
  /** Status 200 and something that is no reply: not JSON, or a stream with an event that is not. */
  | { readonly kind: 'nonsense' }
  /** Nobody listens. */
  | { readonly kind: 'unreachable' }
