import { toCustomArguments } from '../../../conversation/custom-tools.js'
import type { ChatMessage } from '../../../protocol/chat-request.js'
import { isObject, isText, type JsonObject } from '../../../protocol/json-values.js'
import { isCallSignature, isMadeHere, signCalls } from '../../../replies/call-signatures.js'
import type { SealedThoughts } from './sealed-reasoning.js'

/**
 * Returns the messages of a chat for checked items.
 *
 * @param provider the provider that gets the messages, with the reasoning of its own earlier replies. If undefined, the
 * messages contain the reasoning of all providers
 */
export function toMessages(
  instructions: string | undefined,
  items: readonly JsonObject[],
  provider: string | undefined,
  thoughts: SealedThoughts,
): ChatMessage[] {
  const messages = new Messages(provider, thoughts)
  if (instructions !== undefined) messages.add({ role: 'system', content: instructions })
  for (const item of items) messages.addItem(item)
  return messages.finished()
}

/** Whether the messages for different providers may differ. */
export function haveReasoning(items: readonly JsonObject[]): boolean {
  return items.some(({ encrypted_content: sealed, type }) => type === 'reasoning' && sealed !== undefined)
}

/** Collects messages. The reasoning, text and calls of one reply are separate items, and become one message. */
class Messages {
  private readonly all: ChatMessage[] = []
  /** The reply that further items may belong to. */
  private reply: ChatMessage | undefined
  /** The signatures of the reply's calls. */
  private signatures: JsonObject[] = []
  private calls: JsonObject[] = []
  private details: JsonObject[] = []
  /** The parts of the reply's content, once more than one item has some. */
  private parts: unknown[] | undefined

  constructor(
    private readonly provider: string | undefined,
    private readonly thoughts: SealedThoughts,
  ) {}

  finished(): ChatMessage[] {
    this.endReply()
    return this.all
  }

  add(message: ChatMessage): void {
    this.endReply()
    this.all.push(message)
  }

  addItem(item: JsonObject): void {
    switch (item.type) {
      case 'reasoning':
        this.addReasoning(item)
        return
      case 'function_call':
        this.addCall(item, item.arguments as string)
        return
      case 'custom_tool_call':
        this.addCall(item, toCustomArguments(item.input as string))
        return
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.add({ role: 'tool', tool_call_id: item.call_id, content: toContent(item.output, 'tool') })
        return
    }
    const role = item.role as string
    if (role !== 'assistant') this.add({ role, content: toContent(item.content, role) })
    else this.addText(toContent(item.content, role))
  }

  private addReasoning({ encrypted_content: sealed, summary }: JsonObject): void {
    const opened = this.thoughts.open(sealed)
    if (opened === undefined || (this.provider !== undefined && opened.provider !== this.provider)) return
    const words = Array.isArray(summary) ? summary.filter(isObject).map(({ text }) => text) : []
    const text = words.join('\n\n')
    const signatures = opened.details.filter(isCallSignature)
    const details = opened.details.filter((detail) => !isCallSignature(detail))
    // A provider may sign a call after its end.
    const isThought = text !== '' || details.length > 0
    if (isThought && this.reply !== undefined && !isOnlyReasoning(this.reply)) this.endReply()
    for (const signature of signatures) this.signatures.push(signature)
    if (!isThought) return
    const reply = this.current()
    if (text !== '') {
      reply.reasoning_content = isText(reply.reasoning_content)
        ? `${reply.reasoning_content}\n\n${text}`
        : text
    }
    this.addDetails(reply, withTextOfSummary(details, text))
  }

  private addText(content: unknown): void {
    if (this.reply !== undefined && this.reply.content !== null) {
      // Two messages in a row stay two, unless a call is between them: the result must directly follow the message with
      // its call.
      if (Array.isArray(this.reply.tool_calls)) {
        this.parts ??= [...partsOf(this.reply.content)]
        for (const part of partsOf(content)) this.parts.push(part)
        this.reply.content = this.parts
        return
      }
      this.endReply()
    }
    this.current().content = content
  }

  private addCall({ call_id: id, name }: JsonObject, args: string): void {
    const reply = this.current()
    const call = { id, type: 'function', function: { name, arguments: args } }
    this.calls.push(call)
    reply.tool_calls = this.calls
  }

  private current(): ChatMessage {
    this.reply ??= { role: 'assistant', content: null }
    return this.reply
  }

  private endReply(): void {
    const { calls, reply, signatures } = this
    this.reply = undefined
    this.signatures = []
    if (reply === undefined) return
    signCalls(calls, signatures.filter(isMadeHere))
    // OpenRouter signs a call by a detail of the message, and requires the detail back unchanged.
    this.addDetails(
      reply,
      signatures.filter((signature) => !isMadeHere(signature)),
    )
    this.all.push(reply)
    this.calls = []
    this.details = []
    this.parts = undefined
  }

  private addDetails(reply: ChatMessage, details: readonly JsonObject[]): void {
    if (details.length === 0) return
    for (const detail of details) this.details.push(detail)
    reply.reasoning_details = this.details
  }
}

/** A signed thought without text of its own has that of the summary. Its provider takes it back only with its text. */
function withTextOfSummary(details: readonly JsonObject[], text: string): readonly JsonObject[] {
  const thoughts = details.filter(({ type }) => type === 'reasoning.text')
  const [only] = thoughts
  if (thoughts.length !== 1 || isText(only!.text) || text === '') return details
  return details.map((detail) => (detail === only ? { ...detail, text } : detail))
}

function isOnlyReasoning({ content, tool_calls: calls }: ChatMessage): boolean {
  return content === null && calls === undefined
}

function partsOf(content: unknown): readonly unknown[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content }]
}

/** Returns text-only content as one string: many providers accept parts only from a user. */
function toContent(content: unknown, role: string): unknown {
  if (!Array.isArray(content)) return content
  const parts = content.filter(isObject).map(toPart)
  const isText = parts.every(({ type }) => type === 'text')
  if (!isText || (role === 'user' && parts.length > 1)) return parts
  return parts.map(({ text }) => text).join(role === 'assistant' ? '' : '\n\n')
}

function toPart(part: JsonObject): JsonObject {
  switch (part.type) {
    case 'refusal':
      return part
    case 'input_image': {
      const { detail, image_url: url } = part
      return { type: 'image_url', image_url: detail === undefined ? { url } : { url, detail } }
    }
    case 'input_file': {
      const { file_data: data, file_url: url, filename } = part
      const file = { file_data: data ?? url }
      return { type: 'file', file: filename === undefined ? file : { filename, ...file } }
    }
    default:
      return { type: 'text', text: part.text }
  }
}
