import type { Model } from '../../contracts/catalogue.js'
import type { PlanOptions, Reply, ReplyParts } from '../../contracts/operation.js'
import type { ProviderRequest, Route } from '../../contracts/providers.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { ChatPlan } from '../chat/plan.js'
import { ChatReply } from '../chat/reply/chat-reply.js'
import type { CallersItems } from './recall/recent-items.js'
import type { Resolved } from './recall/references.js'
import { ResponseBody } from './reply/response-body.js'
import { ResponseStream } from './reply/response-stream.js'
import { type AskedResponse, checkedMessages } from './request/read-request.js'
import { haveReasoning } from './request/to-messages.js'
import { toResponsesRequest } from './request/to-responses.js'

/** The plan of one response with one model: that of a chat, with a reply of its own. */
export class ResponsePlan extends ChatPlan {
  readonly leftOut: readonly string[]
  private readonly response: AskedResponse
  private readonly hasReasoning: boolean

  constructor(
    { asked, leftOut }: Resolved,
    model: Model,
    options: PlanOptions,
    private readonly recent: CallersItems | undefined,
  ) {
    super(asked, model, options, 'reasoning')
    this.leftOut = leftOut
    this.response = asked
    this.hasReasoning = haveReasoning(asked.items)
  }

  override requestFor(route: Route, onCallersKey: boolean): ProviderRequest {
    const request = super.requestFor(route, onCallersKey) as ChatRequest
    if (route.adapter.responses !== undefined)
      return toResponsesRequest(request, this.response, route.provider)
    if (!this.hasReasoning) return request
    const { items, settings, thoughts } = this.response
    return Object.assign({}, request, {
      messages: checkedMessages(settings.instructions, items, thoughts, route.provider),
    })
  }

  protected override get boundName(): string {
    return 'max_output_tokens'
  }

  override reply(parts: ReplyParts): Reply {
    const { response } = this
    const { mayKeep, model, stream } = response
    const about = { parts, recent: mayKeep ? this.recent : undefined, response }
    return new ChatReply(
      parts,
      { model, stream, n: 1, reasoningName: 'reasoning' },
      {
        stream: () => new ResponseStream(about),
        body: () => new ResponseBody(about),
      },
    )
  }
}
