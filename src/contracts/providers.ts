import type { ChatRequest } from '../protocol/chat-request.js'
import type { ChatChunk } from '../protocol/chunk.js'
import type { ChatCompletion } from '../protocol/completion.js'
import type { EmbeddingList, EmbeddingRequest } from '../protocol/embedding-request.js'
import type { UsageReport } from '../protocol/usage.js'
import type { Model, Prices } from './catalogue.js'
import type { Awaitable, CallContext, Secret, TraceContext, Watch } from './context.js'
import type { Limits } from './limits.js'

/** Which providers serve a model. */
export interface ProviderRegistry {
  /** All routes of a model, in the host's order of preference. Choosing among them is the router's. A throw means 503. */
  routes(model: Model, context: CallContext): Awaitable<readonly Route[]>
  /** Reports models whose routes changed, by id. For a cache in front of it: the router asks at every call. */
  watch?: Watch
  /** Closes the adapters that it built. The router leaves that to its host. */
  close?(): Awaitable<void>
}

export interface Route {
  /** Unique among all routes. */
  readonly id: string
  /** The name that callers use in `provider` and `routing`. */
  readonly provider: string
  readonly adapter: ProviderAdapter
  /** What the provider calls the model. */
  readonly upstreamModel: string
  /** `true` by default. */
  readonly enabled?: boolean
  /**
   * Whether callers may bring keys of their own. `no` (the default) takes none. `yes` takes one in place of the host's key,
   * and none if there is no such key: the provider may ask for no key, and a made-up one would buy a free call. `only` is
   * never used without a caller's key; with it the host says that the provider checks keys.
   */
  readonly byok?: 'yes' | 'no' | 'only'
  /** The host's credential for this route; wins over the adapter's own. */
  readonly secret?: Secret
  /** Where this route is priced apart from the model. */
  readonly prices?: Prices
  readonly supportedParameters?: readonly string[]
  /**
   * What happens upstream when the client leaves. `drain` (the default) reads on, since most providers bill on. With
   * `abort` a caller that leaves pays only for what had come: set it for a provider that stops billing.
   */
  readonly onDisconnect?: 'abort' | 'drain'
  /** The share of calls among routes that are otherwise equal. 1 by default; 0 comes last. */
  readonly weight?: number
}

/**
 * Runs one call. Hands `take` what one network read brought, an empty list if that was nothing but signs of life, and
 * reads no more until a promise that `take` returns is settled. Before the first byte of a reply in one body, signs of
 * life need not be told: the router waits for it.
 *
 * Content that cannot be put into OpenAI's terms is no failure: it is handed over as `unreadable`, and the rest is read,
 * since the provider bills for it.
 *
 * Fulfilled with `terminated` where the provider said that it is done (`[DONE]`, `message_stop`, a whole body); a bare
 * close is `terminated: false`. Every failure rejects with a `ProviderError`. Ends its I/O when the signal aborts.
 */
export type AdapterRun<Request extends ProviderRequest = ProviderRequest> = (
  call: ProviderCall<Request>,
  take: (events: readonly ProviderEvent[]) => void | Promise<void>,
) => Promise<{ terminated: boolean }>

/** The request of one operation as a provider gets it. */
export interface ProviderRequest {
  /** The provider's name of the model. */
  model: string
  [field: string]: unknown
}

/** Speaks one provider's language. It serves the operations for which it has a method. */
export interface ProviderAdapter {
  /** Completes a chat. An adapter without it serves no chat completions. */
  chat?: AdapterRun<ChatRequest>
  /**
   * Embeds texts. An adapter without it serves no embeddings. They come as one `completion` event with an
   * {@link EmbeddingList}, in any order, as numbers or base64.
   */
  embeddings?: AdapterRun<EmbeddingRequest>
  /**
   * The field in which the provider is sent the bound on output, unless `supportedParameters` of the route or model name
   * one of the two. If absent, it is the one that the client used, else `max_tokens`.
   */
  readonly outputBound?: 'max_tokens' | 'max_completion_tokens'
  /** Whether its API insists on a bound on output: a request without one is then sent the bound that is on hold. */
  readonly needsBound?: boolean
  /**
   * How many tokens its models make of a text for each token that OpenAI's models make, at most. 1 if absent. Holds are
   * as much larger.
   */
  readonly tokenFactor?: number
  /**
   * Request fields that this adapter takes beyond those that every provider may be sent (docs/request-fields.md). It
   * answers for it that no caller can be billed by them beyond the price, nor reach another model.
   */
  readonly parameters?: readonly string[]
  /**
   * Whether a call with a caller's key (`auth.kind` is `byok`) sends that key and no credential of the host's. An adapter
   * without this is never given a caller's key.
   */
  readonly takesKeys?: boolean
  /** Whether it has a key of the host's that a caller's would replace. See `Route.byok`. */
  readonly hasKey?: boolean
  close?(): Awaitable<void>
}

/** An adapter that completes chats. */
export interface ChatAdapter extends ProviderAdapter {
  chat: AdapterRun<ChatRequest>
}

/** An adapter that embeds texts. */
export interface EmbeddingsAdapter extends ProviderAdapter {
  embeddings: AdapterRun<EmbeddingRequest>
}

export interface ProviderCall<Request extends ProviderRequest = ChatRequest> {
  /** `model` is the upstream's name; the router's own fields are gone. Not to be changed. */
  readonly request: Request
  /** What the client asked for. Ask the provider the same; it may be answered either way. */
  readonly stream: boolean
  /** Under `byok` there is no other key. */
  readonly auth:
    | { readonly kind: 'host'; readonly secret?: Secret | undefined }
    | { readonly kind: 'byok'; readonly secret: Secret }
  /**
   * Token, total, idle and stall limits are the router's. A reply that is rejected past one of these counts as one that
   * the provider broke off: for adapters of this package alone, what came before `replyBytes` is charged.
   */
  readonly limits: Pick<Limits, 'connectMs' | 'eventBytes' | 'replyBytes'>
  /** The attempt's, not the client's: a reply may be read on after its client has left. */
  readonly signal: AbortSignal
  readonly requestId: string
  /** The caller's, where the host wants it passed on: send it as headers of these names. */
  readonly trace?: TraceContext | undefined
}

export type ProviderEvent =
  /**
   * One OpenAI chunk as JSON text in latin1 (each character a byte of the UTF-8), unparsed. Holds no usage, which an
   * adapter must have looked for.
   */
  | { readonly type: 'data'; readonly bytes: string }
  /** What it says in `usage` is not read: give that as an event of its own, or the call is charged by an estimate. */
  | { readonly type: 'chunk'; readonly chunk: ChatChunk }
  /** A reply in one body. Its `usage` is not read either. */
  | { readonly type: 'completion'; readonly completion: ChatCompletion | EmbeddingList }
  /** May come more than once; field by field the largest counts. */
  | { readonly type: 'usage'; readonly usage: UsageReport }
  /**
   * Content that cannot be put into OpenAI's terms, such as a tool call without a name. Counts as a token. A stream is read
   * on for its usage and then ends with an error; a reply in one body goes out without it. `why` is for the host: it must
   * not quote the reply.
   */
  | { readonly type: 'unreadable'; readonly why: string }

/** Turns settings as they stand in a row or a file into an adapter. What a durable registry is given, by kind. */
export type AdapterFactory<Settings = never> = (settings: Settings) => ProviderAdapter
