import type { Model } from '../../contracts/catalogue.js'
import type { InputEstimate, PlanOptions, Reply, ReplyParts, RoutedCall } from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import type { ResponsesRequest } from '../../protocol/responses-request.js'
import { ModelReply } from '../../replies/model-reply.js'
import { hasMethod } from '../../rules/adapter-methods.js'
import { chatWithHints } from '../chat/hints.js'
import { ChatPlan } from '../chat/plan.js'
import { MOST_TOKENS_A_PART } from '../chat/prompt-estimate.js'
import type { CallersItems } from './recall/recent-items.js'
import { type NamedItems, withNamedItems } from './recall/references.js'
import { type AboutResponse, RepeatedRequest } from './reply/response-object.js'
import { ResponseWriter } from './reply/response-writer.js'
import { type AskedResponse, checkedMessages } from './request/read-request.js'
import { SealedThoughts } from './request/sealed-reasoning.js'
import { haveReasoning } from './request/to-messages.js'
import { toResponsesRequest } from './request/to-responses.js'

/** Reading larger items takes long. */
const LARGE_BYTES = 64 * 1_024
/** More than the bytes of a token in any text that a model writes, including the JSON around it. */
const MOST_BYTES_A_TOKEN = 32

/** The plan of one response with one model. It is the plan of a chat with its own reply. */
export class ResponsePlan extends ChatPlan {
  readonly leftOut: readonly string[]
  readonly namedBytes: number
  /** The items that the request names. Undefined once they are read. */
  private named: NamedItems | undefined
  private readonly repeated: RepeatedRequest

  constructor(
    private response: AskedResponse,
    named: NamedItems | undefined,
    model: Model,
    options: PlanOptions,
    private readonly recent: CallersItems | undefined,
  ) {
    super(response, model, options, 'reasoning')
    this.named = named
    this.leftOut = named?.leftOut ?? []
    this.namedBytes = named?.bytes ?? 0
    const { settings, user } = response
    this.repeated = new RepeatedRequest({ model: response.model, settings, user })
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

  override on(route: Route, onCallersKey: boolean): RoutedCall | undefined {
    const { adapter } = route
    const reply = (parts: ReplyParts): Reply => this.reply(parts)
    if (hasMethod(adapter, 'responses')) {
      return {
        run: (call, outputTokens, take) => {
          const request = this.responseFor(route, onCallersKey, outputTokens)
          return adapter.responses(Object.assign(call, { request }), take)
        },
        reply,
      }
    }
    if (!hasMethod(adapter, 'chat')) return undefined
    return {
      run: (call, outputTokens, take) => {
        const request = this.chatFor(route, onCallersKey, outputTokens)
        return chatWithHints(adapter, Object.assign(call, { request }), take)
      },
      reply,
    }
  }

  private responseFor(route: Route, onCallersKey: boolean, outputTokens: number): ResponsesRequest {
    this.readNamed()
    const chat = super.chatFor(route, onCallersKey, outputTokens)
    return toResponsesRequest(chat, this.response, route.provider)
  }

  protected override chatFor(route: Route, onCallersKey: boolean, outputTokens: number): ChatRequest {
    this.readNamed()
    const request = super.chatFor(route, onCallersKey, outputTokens)
    const { items, settings, thoughts } = this.response
    if (!haveReasoning(items)) return request
    return Object.assign({}, request, {
      messages: checkedMessages(settings.instructions, items, thoughts, route.provider),
    })
  }

  override forget(): void {
    super.forget()
    const settings = { ...this.response.settings, instructions: undefined, tools: [] }
    this.response = {
      ...this.response,
      forward: this.asked.forward,
      items: [],
      settings,
      flatTools: [],
      thoughts: new SealedThoughts(),
    }
  }

  /** A provider of this API gets every part as it came. */
  protected override get joinedTokens(): number {
    const { items } = this.response
    const parts = items.flatMap(({ content, output }) => [content, output]).filter(Array.isArray)
    return parts.reduce((sum, { length }) => sum + length * MOST_TOKENS_A_PART, 0)
  }

  protected override get boundName(): string {
    return 'max_output_tokens'
  }

  private reply(parts: ReplyParts): Reply {
    const { recent, repeated } = this
    const { calledTools, include, mayKeep, stream } = this.response
    const about: AboutResponse = {
      parts,
      recent: mayKeep ? recent : undefined,
      calledTools,
      include,
      repeated,
    }
    return new ModelReply(parts, { stream, n: 1 }, new ResponseWriter(about, stream))
  }

  private readNamed(): void {
    const { named } = this
    if (named === undefined) return
    this.named = undefined
    this.response = withNamedItems(this.response, named)
    this.asked = this.response
  }
}
