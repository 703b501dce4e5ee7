import type { CompatError, ProviderError } from '../base/errors.js'
import type { Mutable } from '../base/mutable.js'
import type { ErrorStyle } from '../protocol/error-body.js'
import type { RequestBody, SentText } from '../protocol/request-body.js'
import type { OwnFields } from '../protocol/request-fields/own-fields.js'
import type { Unlisted } from '../protocol/request-fields/reading.js'
import type { RequestHeaders } from '../protocol/request-headers.js'
import type { UsageReport } from '../protocol/usage.js'
import type { WireBytes } from '../protocol/wire-bytes.js'
import type { WireCharge } from '../protocol/wire-usage.js'
import type { Model } from './catalogue.js'
import type { EngineOptions } from './engine-options.js'
import type { OpenApiOperation } from './openapi.js'
import type {
  PromptEscapes,
  ProviderAdapter,
  ProviderCall,
  ProviderEvent,
  ProviderRequest,
  Route,
  TakeEvents,
} from './providers.js'
import type { ReplyReader } from './reasoning-name.js'
import type { ReplyBytes, WholeReply } from './reply.js'
import type { TokenCounter } from './token-counter.js'

/** How the clients of an API send their credential and read errors. Every refusal has this shape, whoever refuses. */
export interface Api {
  /** OpenAI's shape if absent. */
  readonly errors?: ErrorStyle
  /** The header, in lower case, that may contain the token if there is no `Authorization`. If absent, none. */
  readonly tokenHeader?: string
}

/** A charged POST. The engine runs any operation without knowing which one it is. */
export interface Operation<A extends Asked = Asked> extends Api {
  /** Its name in events, metrics and catalogues, such as `chat`. */
  readonly name: string
  /** Its path below the mount. */
  readonly path: string
  /** The scope that an access token needs. */
  readonly scope: string
  /** Precedes the id of each call's reply, in events and in the ledger. */
  readonly idPrefix: string
  readonly openapi: OpenApiOperation
  /**
   * The operation's name in the `operations` of a model. Defaults to `name`. Another API to the same models uses the
   * name of the first one here.
   */
  readonly modelOperation?: string
  /** The bytes that keep a silent stream alive. A comment by default. */
  readonly keepAlive?: WireBytes
  /** Reads a request. Throws a `CompatError` if it is wrong. Does not change the body. */
  read(body: RequestBody, headers: RequestHeaders): A
  /**
   * Returns at most 20 known parameters of a request that have an effect but are not in the list of supported ones.
   * Parameters that the operation does not know are in {@link Asked.unlisted}.
   */
  unsupported(asked: A, supported: readonly string[]): readonly string[]
  /** Plans a request for its model. Counts nothing yet. */
  plan(asked: A, model: Model, options: PlanOptions, reader: ReplyReader): Plan
  /**
   * Returns every part of a request that can change the reply. Repeats with the same `Idempotency-Key` must have equal
   * parts. They include the model, and `provider`, `routing` and `sessionId` of the own fields. They do not include
   * labels, or the envelope of a provider key, which differs with each sealing.
   */
  digest(asked: A): object
}

/** An operation that the `operations` of a model can name. The others are further APIs to the same models. */
export interface ModelOperation<A extends Asked = Asked> extends Operation<A> {
  /** Whether an adapter serves it, whatever a request asks for. The list of models shows it. */
  isServedBy(adapter: ProviderAdapter): boolean
}

/** The parts of a request that the engine reads. A plain object: the engine may copy it with a different `own`. */
export interface Asked {
  /** The model key. */
  readonly model: string
  /** Whether the client asked for a stream. */
  readonly stream: boolean
  readonly own: OwnFields
  /** The end user, as the client names them. */
  readonly user: string | undefined
  /** Parameters that reach a provider only if the host lists them in `supportedParameters`, or its adapter in `parameters`. */
  readonly unlisted: readonly Unlisted[]
  /** Unknown members that the router omitted, such as `messages.content.extra`. */
  readonly leftOut: readonly string[]
  readonly sentText?: SentText | undefined
}

export interface PlanOptions
  extends Pick<
    EngineOptions,
    'counter' | 'upperCounter' | 'neverOverdraw' | 'sizes' | 'charging' | 'reasoningName'
  > {
  /** Estimates how much of the model's context a prompt takes. `counter` by default. */
  readonly contextCounter?: TokenCounter
}

/** One request for one model: how much it may use, and how each route takes it. */
export interface Plan {
  /**
   * The estimated tokens of the input, computed on the first read. Throws 400 `invalid_request` if the input needs an
   * upper bound but has none.
   */
  readonly input: InputEstimate
  /** Returns the output that a hold for a route covers, beside this input. */
  outputOn(route: Route, input: InputEstimate): OutputRange
  /** How many choices the reply may have, each as long as the model's maximum. */
  readonly choices: number
  /** The members that the plan omitted, besides those in {@link Asked.leftOut}. Absent if there are none. */
  readonly leftOut?: readonly string[]
  /**
   * Returns the settings with which the request has at most this many output tokens on a route, over all choices, such
   * as `max_tokens: 120`. Undefined if the request cannot have so few. Absent if no field limits the output.
   */
  shortened?(route: Route, outputTokens: number): string | undefined
  /**
   * Returns how a route takes the request. Undefined if its adapter has no method for the operation. Asked once for each
   * route of the model, before anything is held. So it only decides, and converts nothing.
   */
  on(route: Route, onCallersKey: boolean): RoutedCall | RefusedCall | undefined
  /**
   * Returns how a route counts the tokens of the input, for free. Undefined if its adapter does not count. Absent if no
   * API for it exists.
   */
  count?(route: Route, onCallersKey: boolean): RoutedCount | undefined
  /**
   * Returns the output limit of each choice that such a request has although the client set none, or a smaller one
   * than the API takes. Undefined if the client's own is sent, or if the request has none. Absent if no field limits the output.
   */
  chosenLimit?(route: Route, outputTokens: number): number | undefined
  /**
   * Returns the usage to charge for one that the provider reported. Absent if it is the same. The charge follows it if
   * both counts are present. Otherwise the charge is an estimate. So an operation without output returns 0 as
   * `completion`, and one with only a price per request 0 for both.
   */
  usageToCharge?(report: UsageReport): UsageReport
  /**
   * The bytes that the request refers to beyond its body, such as those of items that it names. Absent if there are
   * none.
   */
  readonly namedBytes?: number
  /** The most bytes of a provider's reply, if that may be more than `sizes.replyBytes`. */
  readonly replyBytes?: number
  /**
   * The fewest tokens that {@link input} can have, known without reading it. Set if reading it takes long, so that the
   * credit for these tokens is held first.
   */
  readonly leastInput?: number | undefined
  /** Releases the request once no further route gets it. {@link input} must have been read. */
  forget(): void
}

/** How one route takes a request: by which method of its adapter, and how that method's reply is read. */
export interface RoutedCall {
  /**
   * Makes the request, with the provider's name of the model and for no more output than the hold covers. Then runs the
   * call. The request becomes a member of `call` itself, so that the engine can release it.
   *
   * @param outputTokens the output that the hold covers, over all choices
   */
  run(call: UnsentCall, outputTokens: number, take: TakeEvents): Promise<{ terminated: boolean }>
  /** Returns a new reply for one attempt. */
  reply(parts: ReplyParts): Reply
}

/** How one route counts the tokens of a request's input. They come as one `usage` event with `prompt`. */
export interface RoutedCount {
  /** Makes the request without any limit of the output, as a member of `call`, and runs it. */
  run(call: UnsentCall, take: TakeEvents): Promise<{ terminated: boolean }>
}

/** A call to a provider whose request is not made yet. */
export interface UnsentCall extends Mutable<Omit<ProviderCall, 'request'>> {
  request?: ProviderRequest
}

/** A route cannot carry this request although its adapter serves the operation. */
export interface RefusedCall {
  /** For the host, such as `cannot serve so large a request`. */
  readonly refused: string
  /** For the client, if no other route can carry the request either. */
  readonly error: CompatError
}

/** Output tokens over all choices. The hold covers a number from `least` to `most`. */
export interface OutputRange {
  /** If the hold cannot cover this many, the call is refused. */
  readonly least: number
  /** The hold covers no more than this if more would take over a quarter of the caller's credit. */
  readonly usual: number
  readonly most: number
  /** The distance between the numbers of the range. */
  readonly step: number
}

/** How many tokens the input of a call may have. */
export interface InputEstimate {
  /** Errs high, to size a hold. `factor` is the `tokenFactor` of the route's adapter, `escapes` its `promptEscapes`. */
  atMost(factor?: number, escapes?: PromptEscapes): number
  /** Errs low, and counts text only: charged if the provider reports nothing. */
  readonly atLeast: number
  /** Whether the input may have audio or images, whose tokens can have prices of their own. */
  readonly hasMedia: boolean
}

export interface ReplyParts {
  readonly id: string
  /** In Unix seconds. */
  readonly created: number
  readonly counter: TokenCounter
  readonly newId: () => string
  /** The route that is tried. */
  readonly route: Route
  /** Whether fast paths may be used. */
  readonly splice: boolean
  /** The most bytes of log probabilities that a reply keeps to repeat them. */
  readonly repeatedBytes: number
}

/** An event that a reply gets. Usage is no part of it: the engine counts that itself. */
export type ReplyEvent = Exclude<ProviderEvent, { readonly type: 'usage' }>

/** The repairs of one kind in a reply. */
export interface Mended {
  times: number
  /** The names of omitted elements. */
  readonly dropped: Set<string>
}

/** Turns the events of one provider into the bytes of one client, and into the facts that a charge depends on. */
export interface Reply {
  /** Whether a token has arrived, so that a stream can be opened. */
  readonly begun: boolean
  /** Whether the whole reply has arrived. */
  readonly finished: boolean
  /** The number of events with a token, unreadable pieces included. */
  readonly tokenEvents: number
  /** Set if the events are not a reply, or the reply itself reports a failure. Then nothing more of it is read. */
  readonly failure: ProviderError | undefined
  /**
   * Set once a piece of content cannot be read. A stream then sends nothing more, and a JSON reply omits the piece. In
   * both cases the rest is read for its usage.
   */
  readonly unreadable: ProviderError | undefined
  /** Whether the provider gave a reason for the end. */
  readonly gaveReason: boolean
  readonly finishReason: string | undefined
  readonly nativeFinishReason: string | undefined
  /** The provider's own id of the reply. */
  readonly upstreamId: string | undefined
  /** The repaired odd elements, by the kind of repair. Undefined if there were none. */
  readonly mends: ReadonlyMap<string, Mended> | undefined
  /** The approximate memory of the parts of the reply that are kept until its end. */
  readonly keptBytes: number
  /**
   * Returns the first bytes of a stream, which precede those of {@link take}. Each piece is created when it is
   * requested.
   */
  opening?(): Iterable<WireBytes> | undefined
  /**
   * Accepts events of one network read, in order.
   *
   * @returns the bytes to send now: none before the first token, and none if the client asked for a JSON reply
   */
  take(events: readonly ReplyEvent[]): WireBytes
  /** Returns the output tokens received so far, at most this many for each choice. */
  completionAtLeast(maxTokensPerChoice: number): number
  /** Stops collecting the reply, which nobody reads any more. From now on it is only counted. */
  discard(): void
  /**
   * Ends everything that the provider left open. Throws a `ProviderError` if the end cannot be written.
   *
   * @param hasCountedOutput whether the provider has reported output tokens
   */
  endChoices(reason: 'stop' | 'length', hasCountedOutput: boolean): void
  /** Returns the last bytes of a stream, with the charge. */
  closing(charge: WireCharge): ReplyBytes
  /** Returns the last bytes of a stream that fails after its head was sent, with the charge. */
  failing(error: CompatError, charge: WireCharge): ReplyBytes
  /** Returns the whole JSON reply, with the charge. */
  body(charge: WireCharge): WholeReply
}
