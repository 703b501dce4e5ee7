import type { Model } from '../../contracts/catalogue.js'
import type { PlanOptions, Reply, ReplyParts } from '../../contracts/operation.js'
import type { ProviderRequest, Route } from '../../contracts/providers.js'
import type { ReplyReader } from '../../contracts/reasoning-name.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { ChatPlan } from '../chat/plan.js'
import { ChatReply } from '../chat/reply/chat-reply.js'
import { ResponseBody } from './reply/response-body.js'
import { ResponseStream } from './reply/response-stream.js'
import { type AskedResponse, checkedMessages } from './request/read-request.js'
import { haveReasoning } from './request/to-messages.js'
import { toResponsesRequest } from './request/to-responses.js'

/** The plan of one response with one model: that of a chat, with a reply of its own. */
export class ResponsePlan extends ChatPlan {
  private readonly hasReasoning: boolean

  constructor(
    private readonly response: AskedResponse,
    model: Model,
    options: PlanOptions,
    reader: ReplyReader,
  ) {
    super(response, model, options, reader)
    this.hasReasoning = haveReasoning(response.items)
  }

  override requestFor(route: Route, onCallersKey: boolean): ProviderRequest {
    const request = super.requestFor(route, onCallersKey) as ChatRequest
    if (route.adapter.responses !== undefined)
      return toResponsesRequest(request, this.response, route.provider)
    if (!this.hasReasoning) return request
    const { items, settings } = this.response
    return Object.assign({}, request, {
      messages: checkedMessages(settings.instructions, items, route.provider),
    })
  }

  override reply(parts: ReplyParts): Reply {
    const { response } = this
    const { model, stream } = response
    const about = { parts, response }
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
