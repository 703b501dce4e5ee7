import { isProviderError } from '../../base/errors.js'
import type { Mutable } from '../../base/mutable.js'
import type { Reply, ReplyParts, RoutedCall, UnsentCall } from '../../contracts/operation.js'
import type {
  AdapterRun,
  ProviderCall,
  ProviderRequest,
  Route,
  TakeEvents,
} from '../../contracts/providers.js'
import { withoutField } from '../../conversation/chat-fields.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { settled } from '../../conversation/turns.js'
import { writeChat } from '../../conversation/write-chat.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import type { MessagesRequest } from '../../protocol/messages-request.js'
import type { ResponsesRequest } from '../../protocol/responses-request.js'

/** The APIs of an adapter to one kind of model, each with its request. */
interface Requests {
  chat: ChatRequest
  responses: ResponsesRequest
  messages: MessagesRequest
  converse: ConversationRequest
}

type Methods = { readonly [Api in keyof Requests]?: AdapterRun<Requests[Api]> | undefined }

/** A request to a model, as each adapter gets it that does not have the API of the client. */
export interface Convertible {
  /** Whether a hint that a provider does not know is left out. Otherwise it is refused. */
  readonly omitsHints: boolean
  /** Returns the request for such a route. */
  conversation(route: Route, onCallersKey: boolean, outputTokens: number): ConversationRequest
  reply(parts: ReplyParts): Reply
}

/** A request of an API that some adapters have too. */
export interface Conversing<Api extends Exclude<keyof Requests, 'converse'>> extends Convertible {
  /** The API of the client. */
  readonly api: Api
  /** Returns the request for a route that has this API. */
  ownRequest(route: Route, onCallersKey: boolean, outputTokens: number): Requests[Api]
}

/** Returns how a route takes a request: in the client's own API if its adapter has that, or else as any other. */
export function routedCall<Api extends Exclude<keyof Requests, 'converse'>>(
  request: Conversing<Api>,
  route: Route,
  onCallersKey: boolean,
): RoutedCall | undefined {
  const { api } = request
  const adapter: Methods = route.adapter
  if (adapter[api] === undefined) return convertedCall(request, route, onCallersKey)
  return {
    run: (call, outputTokens, take) =>
      adapter[api]!(withRequest(call, request.ownRequest(route, onCallersKey, outputTokens)), take),
    reply: (parts) => request.reply(parts),
  }
}

/**
 * Returns how a route takes a request of an API that its adapter does not have: as a conversation, and as a chat if the
 * adapter knows nothing else. An API that no provider has needs only this.
 */
export function convertedCall(
  request: Convertible,
  route: Route,
  onCallersKey: boolean,
): RoutedCall | undefined {
  const adapter: Methods = route.adapter
  const { omitsHints } = request
  const reply = (parts: ReplyParts) => request.reply(parts)
  if (adapter.converse !== undefined) {
    return {
      run: (call, outputTokens, take) => {
        const conversation = settled(request.conversation(route, onCallersKey, outputTokens))
        const sent = withRequest(call, conversation)
        const run: AdapterRun<ConversationRequest> = (again, takes) => adapter.converse!(again, takes)
        return omitsHints ? runWith(run, conversationWithout, sent, take) : run(sent, take)
      },
      reply,
    }
  }
  if (adapter.chat === undefined) return undefined
  return {
    run: (call, outputTokens, take) => {
      const sent = withRequest(call, writeChat(request.conversation(route, onCallersKey, outputTokens)))
      const run: AdapterRun<ChatRequest> = (again, takes) => adapter.chat!(again, takes)
      return omitsHints ? runWith(run, chatWithout, sent, take) : run(sent, take)
    },
    reply,
  }
}

/** The engine releases the request by this member of the call. */
function withRequest<Request extends ProviderRequest>(
  call: UnsentCall,
  request: Request,
): Mutable<ProviderCall<Request>> {
  return Object.assign(call, { request })
}

/** Fields that agents send to every model, and that only suggest how it should work. */
const HINTS = new Set<string | undefined>(['reasoning_effort', 'parallel_tool_calls', 'verbosity'])

/** Returns a request without a field of a chat. Undefined if it has none, or if the engine has released it. */
type WithoutField<Request> = (request: Partial<Request>, field: string) => Request | undefined

const chatWithout: WithoutField<ChatRequest> = ({ messages, model, ...rest }, field) => {
  if (model === undefined || messages === undefined || rest[field] === undefined) return undefined
  return { ...rest, model, messages, [field]: undefined }
}

const conversationWithout: WithoutField<ConversationRequest> = ({ model, settings, turns }, field) => {
  if (model === undefined || settings === undefined || turns === undefined) return undefined
  const left = withoutField(settings, field)
  return left === settings ? undefined : { model, turns, settings: left }
}

/**
 * Sends a request. If the adapter cannot express a hint, or its provider does not know it, sends it again without the
 * hint. Nothing of a reply has come by then.
 */
async function runWith<Request extends ProviderRequest>(
  run: AdapterRun<Request>,
  without: WithoutField<Request>,
  call: Mutable<ProviderCall<Request>>,
  take: TakeEvents,
): Promise<{ terminated: boolean }> {
  try {
    return await run(call, take)
  } catch (failure) {
    const hint =
      isProviderError(failure) && failure.reason === 'unsupported-request' ? failure.param : undefined
    const request = HINTS.has(hint) ? without(call.request, hint!) : undefined
    if (request === undefined) throw failure
    call.request = request
    return runWith(run, without, call, take)
  }
}
