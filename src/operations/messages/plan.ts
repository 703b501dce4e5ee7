import type { Model } from '../../contracts/catalogue.js'
import type {
  InputEstimate,
  OutputRange,
  Plan,
  PlanOptions,
  Reply,
  ReplyParts,
  RoutedCall,
  RoutedCount,
} from '../../contracts/operation.js'
import type { Route } from '../../contracts/providers.js'
import type { ConversationRequest } from '../../conversation/conversation.js'
import { writeChat } from '../../conversation/write-chat.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { isObject } from '../../protocol/json-values.js'
import type { MessagesRequest } from '../../protocol/messages-request.js'
import { ModelReply } from '../../replies/model-reply.js'
import { hasMethod } from '../../rules/adapter-methods.js'
import { contextLeft } from '../chat/context-left.js'
import { boundOf, leastHeld, type OutputBounds, RequestedOutput } from '../chat/output-bounds.js'
import {
  estimatePrompt,
  MOST_TOKENS_A_DOCUMENT,
  MOST_TOKENS_A_PART,
  withoutRequest,
} from '../chat/prompt-estimate.js'
import { conversationOn, withoutCacheMarks } from '../chat/route-conversation.js'
import { keepsMarks } from '../chat/route-request.js'
import { type Conversing, routedCall } from '../chat/routed-call.js'
import { MessageWriter } from './reply/message-writer.js'
import { blocksOf } from './request/blocks.js'
import { nativeRequest } from './request/native-request.js'
import { type AskedMessages, conversationFor, wholeConversation } from './request/read-request.js'

/** The plan of one message with one model. Its input and output are estimated like those of a chat. */
export class MessagesPlan implements Plan, Conversing<'messages'> {
  readonly api = 'messages'
  readonly omitsHints = true
  readonly choices = 1
  private readonly output: RequestedOutput
  private readonly stopSequences: ReadonlySet<unknown>
  private estimate: InputEstimate | undefined

  constructor(
    private asked: AskedMessages,
    private readonly model: Model,
    private readonly options: PlanOptions,
  ) {
    const { max_tokens, stop_sequences: sequences, thinking } = asked.native
    this.stopSequences = new Set(Array.isArray(sequences) ? sequences : [])
    const wanted = {
      bound: boundOf(max_tokens),
      budget: boundOf(isObject(thinking) ? thinking.budget_tokens : undefined),
      choices: 1,
      alternatives: undefined,
      stream: asked.stream,
    }
    this.output = new RequestedOutput(wanted, model, options)
  }

  get input(): InputEstimate {
    this.estimate ??= estimatePrompt(this.chat(), this.model, this.options, this.blockTokens())
    return this.estimate
  }

  private chat(): ChatRequest {
    return writeChat(wholeConversation(this.asked))
  }

  /** The most tokens added by blocks that the chat joins into one text. */
  private blockTokens(): number {
    const { messages, system } = this.asked.native
    return [system, ...messages.map(({ content }) => content)].reduce<number>(
      (sum, content) => sum + tokensOfBlocks(content),
      0,
    )
  }

  outputOn(route: Route, input: InputEstimate): OutputRange {
    const { model, options, output } = this
    const request = () => this.chat()
    const { least, most, usual } = output.rangeOn(route, (wanted) =>
      contextLeft(wanted, input, { request, model, route, options }),
    )
    const { thinking } = output
    return { least: least + thinking, usual: usual + thinking, most: most + thinking, step: 1 }
  }

  chosenLimit(route: Route, outputTokens: number): number | undefined {
    return this.output.chosenFor(route, outputTokens - this.output.thinking)
  }

  shortened(route: Route, outputTokens: number): string | undefined {
    const tokens = outputTokens - this.output.thinking
    return tokens < leastHeld(route) ? undefined : `max_tokens: ${tokens}`
  }

  on(route: Route, onCallersKey: boolean): RoutedCall | undefined {
    return routedCall(this, route, onCallersKey)
  }

  count(route: Route, onCallersKey: boolean): RoutedCount | undefined {
    const { adapter } = route
    if (!hasMethod(adapter, 'countMessageTokens')) return undefined
    return {
      run: (call, take) => {
        const request = nativeRequest(this.asked, this.model, route, undefined, onCallersKey)
        return adapter.countMessageTokens(Object.assign(call, { request }), take)
      },
    }
  }

  ownRequest(route: Route, onCallersKey: boolean, outputTokens: number): MessagesRequest {
    return nativeRequest(this.asked, this.model, route, this.boundsWithin(route, outputTokens), onCallersKey)
  }

  conversation(route: Route, onCallersKey: boolean, outputTokens: number): ConversationRequest {
    const { asked, model } = this
    const bounds = this.boundsWithin(route, outputTokens)
    const conversation = conversationOn(conversationFor(asked, model, route), { model, route, bounds })
    if (!asked.marksCache || keepsMarks(route, model, onCallersKey)) return conversation
    return withoutCacheMarks(conversation)
  }

  reply(parts: ReplyParts): Reply {
    const { model, stream } = this.asked
    const { provider, upstreamModel } = parts.route
    const thinker = { provider, model: upstreamModel }
    const writer = new MessageWriter({ id: parts.id, model }, thinker, stream)
    return new ModelReply(parts, { stream, n: 1, stopSequences: this.stopSequences }, writer)
  }

  private boundsWithin(route: Route, outputTokens: number): OutputBounds {
    return this.output.bounds(outputTokens - this.output.thinking, route)
  }

  forget(): void {
    const { native, ...rest } = this.asked
    this.asked = { ...rest, native: { model: native.model, messages: [] } }
    if (this.estimate !== undefined && this.options.neverOverdraw) {
      this.estimate = withoutRequest(this.estimate)
    }
  }
}

function tokensOfBlocks(content: unknown): number {
  let tokens = 0
  for (const block of blocksOf(content)) {
    const isDocument = block.type === 'document' || block.type === 'search_result'
    tokens += isDocument ? MOST_TOKENS_A_DOCUMENT : MOST_TOKENS_A_PART
    if (block.type === 'tool_result') tokens += tokensOfBlocks(block.content)
  }
  return tokens
}
