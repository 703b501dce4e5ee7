import type { ConversationRequest } from '../conversation/conversation.js'
import type { Labels, ProviderDelta } from '../conversation/delta.js'
import type { ChatRequest } from '../protocol/chat-request.js'
import type { ChatChunk } from '../protocol/chunk.js'
import type { ChatCompletion } from '../protocol/completion.js'
import type { EmbeddingList, EmbeddingRequest } from '../protocol/embedding-request.js'
import type { MessagesRequest } from '../protocol/messages-request.js'
import type { SentText } from '../protocol/request-body.js'
import type { ResponsesRequest } from '../protocol/responses-request.js'
import type { UsageReport } from '../protocol/usage.js'
import type { WireBytes } from '../protocol/wire-bytes.js'
import type { Model, Prices } from './catalogue.js'
import type { Awaitable, CallContext, Secret, TraceContext, Watch } from './context.js'
import type { FastPaths } from './fast-paths.js'
import type { Sizes, Timeouts } from './limits.js'

/** The routes of each model. */
export interface ProviderRegistry {
  /** Returns all routes of a model, in the host's order of preference. The router chooses among them. A throw means 503. */
  routes(model: Model, context: CallContext): Awaitable<readonly Route[]>
  /** Reports models whose routes changed, by id. For caches: the router itself asks for each call. */
  watch?: Watch
  /** Closes the adapters that the registry created. The host calls it, not the router. */
  close?(): Awaitable<void>
}

export interface Route {
  /** Unique among all routes. */
  readonly id: string
  /** The provider's name, as callers use it in `provider` and `routing`. */
  readonly provider: string
  readonly adapter: ProviderAdapter
  /** The provider's name of the model. */
  readonly upstreamModel: string
  /** `true` by default. */
  readonly enabled?: boolean
  /**
   * Whether callers may use their own keys. `no` (the default): never. `yes`: instead of the host's key. Without a
   * host's key, they may not, because a provider that needs no key would accept a made-up one, and the call would be
   * free. `only`: the route is never used without a caller's key, and the host states that the provider checks keys.
   */
  readonly byok?: 'yes' | 'no' | 'only'
  /** The host's credential for this route. Overrides the adapter's own. */
  readonly secret?: Secret
  /** Prices of this route, instead of the model's. */
  readonly prices?: Prices
  readonly supportedParameters?: readonly string[]
  /** The output tokens of a call without a limit, on this route. See {@link Model}. */
  readonly defaultOutputTokens?: number
  /**
   * Whether to read on after the client has left. `drain` (the default) reads on, since most providers bill the whole
   * reply. With `abort` the caller pays only for the part that has arrived: use it if the provider stops billing.
   */
  readonly onDisconnect?: 'abort' | 'drain'
  /**
   * The characters that the provider's chat template writes as `\uXXXX` in tools and their results: `ascii` all that are
   * not ASCII, as Python does by default; `html` those with a meaning in HTML, as Go does. None if absent. Only upper
   * bounds of prompts depend on it.
   */
  readonly promptEscapes?: PromptEscapes
  /** The share of calls among otherwise equal routes. 1 by default; 0 comes last. */
  readonly weight?: number
}

export type PromptEscapes = 'ascii' | 'html'

/**
 * Runs one call. Passes the events of each network read to `take`, or an empty list for mere signs of life. If `take`
 * returns a promise, reads no further until it settles. Signs of life before the first byte of a JSON reply can be
 * omitted. `heldBytes` is the number of bytes that the adapter keeps, such as the beginning of a JSON body. They count
 * towards the memory of the call.
 *
 * Call `take` only once the provider has accepted the request. From then on `call.request` may be empty.
 *
 * Content that cannot be expressed in OpenAI's terms is not a failure: pass it as `unreadable` and read on, since the
 * provider bills for it.
 *
 * Resolves with `terminated: true` if the provider stated the end (`[DONE]`, `message_stop`, a whole body), and with
 * `false` if it only closed the connection. Every failure rejects with a `ProviderError`. Ends its I/O when the signal
 * aborts.
 */
export type AdapterRun<Request extends ProviderRequest = ProviderRequest> = (
  call: ProviderCall<Request>,
  take: TakeEvents,
) => Promise<{ terminated: boolean }>

/** Accepts the events of one network read. See {@link AdapterRun}. */
export type TakeEvents = (events: readonly ProviderEvent[], heldBytes?: number) => void | Promise<void>

/** The request of one operation in the form that a provider receives. */
export interface ProviderRequest {
  /** The provider's name of the model. */
  model: string
}

/** Implements one provider's API. Serves the operations for which it has a method. */
export interface ProviderAdapter {
  /** Completes a chat, for a provider that has OpenAI's chat completions. */
  chat?: AdapterRun<ChatRequest>
  /**
   * Continues a conversation, for a provider whose API is none of those that clients speak here: it passes the same events
   * as `chat`. Requests of every API reach it in one form, with the results of calls right behind their calls, each once.
   * An adapter needs `chat` or this for chat completions; both serve the other APIs too.
   */
  converse?: AdapterRun<ConversationRequest>
  /**
   * Embeds texts. An adapter without it serves no embeddings. They come as one `completion` event with an
   * {@link EmbeddingList}, in any order, as numbers or base64.
   */
  embeddings?: AdapterRun<EmbeddingRequest>
  /**
   * Creates a response, for a provider that has the Responses API. It passes the same events as `chat`. An adapter without it
   * gets such requests by `converse` or `chat`.
   */
  responses?: AdapterRun<ResponsesRequest>
  /**
   * Creates a message, for a provider that has Anthropic's Messages API. `readMessageEvents` reads its replies. An adapter
   * without it gets such requests by `converse` or `chat`.
   */
  messages?: AdapterRun<MessagesRequest>
  /** Counts the input tokens of a message, for free. They come as one `usage` event with `prompt`. */
  countMessageTokens?: AdapterRun<MessagesRequest>
  /**
   * The form in which it requests embeddings. Base64 takes a sixth of the memory of numbers, so that larger batches are
   * accepted. Numbers if absent.
   */
  readonly embeddingsFormat?: 'base64' | 'numbers'
  /**
   * The field for the output limit, unless `supportedParameters` of the route or model name one of the two. If absent:
   * the field that the client used, otherwise `max_tokens`.
   */
  readonly outputBound?: 'max_tokens' | 'max_completion_tokens'
  /** Whether the API requires an output limit. A request without one then gets the limit that the hold covers. */
  readonly needsBound?: boolean
  /** The smallest output limit that the API accepts. A smaller one of a client is raised to it, and the hold covers that. */
  readonly leastOutputBound?: number
  /**
   * The output tokens that a hold covers at least, because the adapter itself raises smaller limits for some models. 1 if
   * absent.
   */
  readonly leastHeldOutput?: number
  /**
   * The most tokens of a text for its models, per token of the same text for OpenAI's models. Holds are larger by this
   * factor. 1 if absent.
   */
  readonly tokenFactor?: number
  /**
   * Request fields that this adapter accepts beyond those that every provider may get (docs/request-fields.md). The adapter
   * guarantees that no caller can use them to cause costs beyond the price, or to reach another model. `converse` gets
   * them in `settings.others`, as a chat has them.
   */
  readonly parameters?: readonly string[]
  /**
   * Whether a call with a caller's key (`auth.kind` is `byok`) sends that key and none of the host's credentials. Without
   * it, the adapter never gets a caller's key.
   */
  readonly takesKeys?: boolean
  /** Whether it has a key of the host that a caller's key would replace. See `Route.byok`. */
  readonly hasKey?: boolean
  close?(): Awaitable<void>
}

/** An adapter that serves chat completions. */
export interface ChatAdapter extends ProviderAdapter {
  chat: AdapterRun<ChatRequest>
}

/** An adapter of a provider with an API of its own. */
export interface ConversationAdapter extends ProviderAdapter {
  converse: AdapterRun<ConversationRequest>
}

/** An adapter that serves embeddings. */
export interface EmbeddingsAdapter extends ProviderAdapter {
  embeddings: AdapterRun<EmbeddingRequest>
}

export interface ProviderCall<Request extends ProviderRequest = ChatRequest> {
  /** Contains the provider's name of the model, and none of the router's own fields. Do not change it. */
  readonly request: Request
  /** The JSON text of `request.messages`, if they are long. Sending it is faster than serialising them again. */
  readonly sentText?: SentText | undefined
  /** Whether the client asked for a stream. Ask the provider for the same; it may answer either way. */
  readonly stream: boolean
  /** For `byok`, use no other key. */
  readonly auth:
    | { readonly kind: 'host'; readonly secret?: Secret | undefined }
    | { readonly kind: 'byok'; readonly secret: Secret }
  /** The time that the adapter enforces; the router enforces the others. */
  readonly timeouts: Pick<Timeouts, 'connectMs'>
  /**
   * The sizes that the adapter enforces. A reply beyond one of them counts as cut short by the provider. The part before
   * `replyBytes` is charged only for this package's own adapters.
   */
  readonly sizes: Pick<Sizes, 'eventBytes' | 'replyBytes'>
  /** The shortcuts that the host allows; all if absent. An adapter has to take none. */
  readonly fastPaths?: FastPaths
  /** Aborts with the attempt, not with the client: a reply may be read on after its client has left. */
  readonly signal: AbortSignal
  readonly requestId: string
  /** The caller's trace context, if the host passes it on. Send its fields as headers. */
  readonly trace?: TraceContext | undefined
}

export type ProviderEvent =
  /**
   * The client's own names of tools, by those that the provider was sent in their place. Comes before all other events of
   * a reply. The reply gives the client its own names, also of calls whose names come in pieces.
   */
  | { readonly type: 'tool-names'; readonly names: ReadonlyMap<string, string> }
  /** One step of a reply, in the terms of no API. All deltas are of one choice, and together they count as one event. */
  | { readonly type: 'deltas'; readonly deltas: readonly ProviderDelta[]; readonly labels?: Labels }
  /**
   * One OpenAI chunk as unparsed JSON. It must not contain a usage, so the adapter must look for one.
   */
  | { readonly type: 'data'; readonly bytes: WireBytes }
  /** The router ignores its `usage`: pass that as an event of its own, or the charge is an estimate. */
  | { readonly type: 'chunk'; readonly chunk: ChatChunk }
  /**
   * A JSON reply: of chat in OpenAI's shape, of embeddings an {@link EmbeddingList}, of any other operation an object that
   * the operation can read. The router ignores its `usage` too.
   */
  | {
      readonly type: 'completion'
      readonly completion: ChatCompletion | EmbeddingList | Readonly<Record<string, unknown>>
    }
  /**
   * May come more than once. For each field, the largest value counts. `final` marks the usage of a whole reply, and the
   * one in the event with which a reply fails: pass it before the failure. Any other usage is final if it comes at or
   * after the finish.
   */
  | { readonly type: 'usage'; readonly usage: UsageReport; readonly final?: boolean }
  /**
   * Content that cannot be expressed in OpenAI's terms, such as a tool call without a name. Counts as a token. A stream
   * is read on for its usage and then ends with an error. A JSON reply is sent without the content. `why` is for the
   * host, and must not quote the reply. The text in `piece`, a value of any shape, counts in an estimate.
   */
  | { readonly type: 'unreadable'; readonly why: string; readonly piece?: unknown }
  /**
   * An odd element of a good reply was repaired: skipped or converted without a loss. `kind` names the way, such as
   * `frame-skipped`, and `dropped` names omitted elements. The kind `parameter-ignored` names a field of the request
   * that the provider ignored. Both are for the host, and must not quote the reply.
   */
  | { readonly type: 'mended'; readonly kind: string; readonly dropped?: string }

/** Creates an adapter from settings in a row or a file. A durable registry has one for each kind of adapter. */
export type AdapterFactory<Settings = never> = (settings: Settings) => ProviderAdapter
