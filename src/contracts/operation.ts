import type { ProviderError } from '../base/errors.js'
import type { RequestBody, SentText } from '../protocol/request-body.js'
import type { OwnFields } from '../protocol/request-fields/own-fields.js'
import type { Unlisted } from '../protocol/request-fields/reading.js'
import type { UsageReport } from '../protocol/usage.js'
import type { WireCharge } from '../protocol/wire-usage.js'
import type { Model } from './catalogue.js'
import type { EngineOptions } from './engine-options.js'
import type { OpenApiOperation } from './openapi.js'
import type {
  AdapterRun,
  ProviderAdapter,
  ProviderCall,
  ProviderEvent,
  ProviderRequest,
  Route,
} from './providers.js'
import type { TokenCounter } from './token-counter.js'

/** A POST that is charged. The engine runs any of them, and knows none. */
export interface Operation<A extends Asked = Asked> {
  /** Its name in events, metrics and catalogues, such as `chat`. */
  readonly name: string
  /** Its path below the mount. */
  readonly path: string
  /** The scope that an access token needs. */
  readonly scope: string
  /** Precedes the id of each reply. */
  readonly idPrefix: string
  readonly openapi: OpenApiOperation
  /** Reads a body. Throws a `CompatError` if the request is wrong. Does not change the body. */
  read(body: RequestBody): A
  /** Returns the parameters of a request, at most 20, that are not on a list of supported ones and do ask for something. */
  unsupported(asked: A, supported: readonly string[]): readonly string[]
  /** Plans a request for its model. Counts nothing yet. */
  plan(asked: A, model: Model, options: PlanOptions): Plan
  /** Returns everything in a request that can change the reply: two requests under one key must agree in it. */
  digest(asked: A): object
  /** Whether an adapter serves this operation. */
  isServedBy(adapter: ProviderAdapter): boolean
  /** Has an adapter that serves the operation run a call. */
  run(
    adapter: ProviderAdapter,
    call: ProviderCall<ProviderRequest>,
    take: Parameters<AdapterRun>[1],
  ): ReturnType<AdapterRun>
}

/** The parts of a request that the engine reads. A plain object, which the engine may copy with other own fields. */
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
  /** Members that the router does not know and left out, such as `messages.content.extra`. */
  readonly leftOut: readonly string[]
  readonly sentText?: SentText | undefined
}

export type PlanOptions = Pick<EngineOptions, 'counter' | 'upperCounter' | 'neverOverdraw' | 'limits'>

/** One request for one model: how much it may use, and what routes are sent. */
export interface Plan {
  /**
   * Estimates the tokens of the input, the first time that it is read. Throws 400 `invalid_request` if the input must have
   * a bound and has none.
   */
  readonly input: InputEstimate
  /** The output tokens that the hold covers, of all choices together. */
  readonly outputTokens: number
  /** How many choices the reply may have, each as long as the model's maximum. */
  readonly choices: number
  /** The request as a route gets it: under its name of the model, and for no more output than is on hold. */
  requestFor(route: Route, onCallersKey: boolean): ProviderRequest
  /** Returns a new reply for one attempt. */
  reply(parts: ReplyParts): Reply
}

/** How many tokens the input of a call may have. */
export interface InputEstimate {
  /** Errs high, to size a hold. `factor` is the `tokenFactor` of the route's adapter. */
  atMost(factor?: number): number
  /** Errs low, and counts text only: charged if the provider reports nothing. */
  readonly atLeast: number
}

export interface ReplyParts {
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  readonly counter: TokenCounter
  readonly meter: Meter
  readonly newId: () => string
  /** Whether fast paths may be used. */
  readonly splice: boolean
}

/** Hears of the tokens and usage that a reply brings. */
export interface Meter {
  /** @param finished whether the reply had finished before this report came */
  snapshot(report: UsageReport, finished: boolean): void
  token(): void
}

/** The mends of one kind in a reply. */
export interface Mended {
  times: number
  /** The names of what was left out. */
  readonly dropped: Set<string>
}

/** Turns the events of one provider into the bytes of one client, and into the facts that a charge depends on. */
export interface Reply {
  /** Whether a token or a finish came: a stream can be opened. */
  readonly begun: boolean
  /** Whether everything came that was asked for. */
  readonly finished: boolean
  /** How many events brought a token. Pieces that cannot be read are among them. */
  readonly tokenEvents: number
  /** Set if the reply is none, or says itself that it failed. Then nothing more of it is read. */
  readonly failure: ProviderError | undefined
  /**
   * Why the first piece of content that cannot be read cannot. A stream then sends nothing more, and a reply in one body goes
   * without the piece; either way the rest is read for its usage.
   */
  readonly unreadable: ProviderError | undefined
  /** Whether the provider gave a reason for the end. */
  readonly gaveReason: boolean
  readonly finishReason: string | undefined
  readonly nativeFinishReason: string | undefined
  /** The provider's own id of the reply. */
  readonly upstreamId: string | undefined
  /** The odd elements that were mended, by the kind of mend. Undefined if there were none. */
  readonly mends: ReadonlyMap<string, Mended> | undefined
  /**
   * Accepts the events of one network read.
   *
   * @returns the bytes to send now: none before the first token or finish, and none to a client that asked for one body
   */
  take(events: readonly ProviderEvent[]): string
  /** The output tokens of what came, each choice at most this many. */
  completionAtLeast(maxTokensPerChoice: number): number
  /** Nobody reads the reply any more: from now on it is only counted. */
  discard(): void
  /** Ends everything that the provider left open. Throws a `ProviderError` if the end cannot be written. */
  endChoices(reason: 'stop' | 'length'): void
  /** The last bytes of a stream, with the charge. */
  closing(charge: WireCharge): string
  /** The whole reply in one body, with the charge. */
  body(charge: WireCharge): string
}
