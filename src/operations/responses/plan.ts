import type { Model } from '../../contracts/catalogue.js'
import type { InputEstimate, PlanOptions, Reply, ReplyParts, RoutedCall } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import { NO_SETTINGS } from '../../conversation/chat-fields.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { Recipient, turnsFor } from '../../conversation/thoughts.js'
import { writeChat } from '../../conversation/write-chat.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import type { ResponsesRequest } from '../../protocol/responses-request.js'
import { ModelReply } from '../../replies/model-reply.js'
import { GenerationPlan } from '../chat/generation-plan.js'
import type { WantedOutput } from '../chat/output-bounds.js'
import { MOST_TOKENS_A_PART } from '../chat/prompt-estimate.js'
import { conversationOn } from '../chat/route-conversation.js'
import { type Conversing, routedCall } from '../chat/routed-call.js'
import type { CallersItems } from './recall/recent-items.js'
import { type NamedItems, withNamedItems } from './recall/references.js'
import { type AboutResponse, RepeatedRequest } from './reply/response-object.js'
import { ResponseWriter } from './reply/response-writer.js'
import type { AskedResponse } from './request/read-request.js'
import { SealedThoughts } from './request/sealed-reasoning.js'
import { toResponsesRequest } from './request/to-responses.js'

/** Reading larger items takes long. */
const LARGE_BYTES = 64 * 1_024
/** More than the bytes of a token in any text that a model writes, including the JSON around it. */
const MOST_BYTES_A_TOKEN = 32

/** The large parts of a request. */
type Emptied = 'forward' | 'items' | 'settings' | 'flatTools' | 'thoughts'

function wantedBy({ forward, stream }: AskedResponse): WantedOutput {
  const { bound, logprobs, topLogprobs = 0 } = forward.settings
  const alternatives = logprobs ? topLogprobs : undefined
  return { bound: bound?.tokens ?? 0, budget: 0, choices: 1, alternatives, stream }
}

/** The plan of one response with one model. */
export class ResponsePlan extends GenerationPlan<AskedResponse> implements Conversing<'responses'> {
  readonly api = 'responses'
  readonly omitsHints = true
  readonly leftOut: readonly string[]
  readonly namedBytes: number
  /** The items that the request names. Undefined once they are read. */
  private named: NamedItems | undefined
  private readonly repeated: RepeatedRequest

  constructor(
    asked: AskedResponse,
    named: NamedItems | undefined,
    model: Model,
    options: PlanOptions,
    private readonly recent: CallersItems | undefined,
  ) {
    super(asked, wantedBy(asked), model, options)
    this.named = named
    this.leftOut = named?.leftOut ?? []
    this.namedBytes = named?.bytes ?? 0
    const { settings, user } = asked
    this.repeated = new RepeatedRequest({ model: asked.model, settings, user })
  }

  get leastInput(): number | undefined {
    const { named } = this
    if (named === undefined || named.bytes < LARGE_BYTES) return undefined
    return Math.floor(named.bytes / MOST_BYTES_A_TOKEN)
  }

  override get input(): InputEstimate {
    this.readNamed()
    return super.input
  }

  on(route: Route, onCallersKey: boolean): RoutedCall | undefined {
    return routedCall(this, route, onCallersKey)
  }

  ownRequest(route: Route, _onCallersKey: boolean, outputTokens: number): ResponsesRequest {
    this.readNamed()
    const bounds = this.boundsOn(route, outputTokens)
    return toResponsesRequest(this.asked, { route, model: this.model, bounds })
  }

  conversation(route: Route, _onCallersKey: boolean, outputTokens: number): ConversationRequest {
    this.readNamed()
    const bounds = this.boundsOn(route, outputTokens)
    const conversation = conversationOn(this.asked.forward, { route, model: this.model, bounds })
    conversation.turns = turnsFor(conversation.turns, new Recipient(route.provider, route.upstreamModel))
    return conversation
  }

  reply(parts: ReplyParts): Reply {
    const { recent, repeated } = this
    const { calledTools, include, mayKeep, stream } = this.asked
    const about: AboutResponse = {
      parts,
      recent: mayKeep ? recent : undefined,
      calledTools,
      include,
      repeated,
    }
    return new ModelReply(parts, { stream, n: 1 }, new ResponseWriter(about, stream))
  }

  protected override emptied(): Pick<AskedResponse, Emptied> {
    return {
      forward: { model: this.asked.model, turns: [], settings: NO_SETTINGS },
      items: [],
      settings: { ...this.asked.settings, instructions: undefined, tools: [] },
      flatTools: [],
      thoughts: new SealedThoughts(),
    }
  }

  protected chat(): ChatRequest {
    return writeChat(this.asked.forward)
  }

  /** A provider of this API gets every part as it came. */
  protected override get joinedTokens(): number {
    const { items } = this.asked
    const parts = items.flatMap(({ content, output }) => [content, output]).filter(Array.isArray)
    return parts.reduce((sum, { length }) => sum + length * MOST_TOKENS_A_PART, 0)
  }

  protected get boundName(): string {
    return 'max_output_tokens'
  }

  private readNamed(): void {
    const { named } = this
    if (named === undefined) return
    this.named = undefined
    this.asked = withNamedItems(this.asked, named)
  }
}
