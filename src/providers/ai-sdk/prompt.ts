import { CallIds } from '../../conversation/call-ids.js'
import type { Answer, Part, Turn } from '../../conversation/conversation.js'
import { isInstructions } from '../../conversation/turns.js'
import { withDigits } from '../../protocol/exact-data.js'
import type { JsonObject } from '../../protocol/json-values.js'
import { inputOf } from '../openai-input/call-inputs.js'
import { toFilePart, toResultPart } from './media.js'
import { signedOptions, thoughtParts } from './signatures.js'
import type { PromptMessage, PromptPart, SpecificationVersion, SupportedUrls } from './specification.js'
import { callIdOf, isClaude, isGemini, type ModelNames } from './target-api.js'

/** The only provider of the AI SDK that must be told where its cache ends. Others ignore these options. */
const CACHE = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }

export interface PromptTarget extends ModelNames {
  readonly version: SpecificationVersion
  readonly urls: SupportedUrls
}

/**
 * Converts messages to a prompt of the specification. Consecutive tool results form one message. Each has the name of
 * the call that it answers, as the specification requires. Messages without content are omitted, except those of users.
 *
 * Packages of Claude and Gemini accept system messages only at the beginning, so all of them are moved there. A
 * conversation that begins with a reply, since its client has cut it, gets words before it for Gemini, and its replies that
 * follow each other are one: Gemini takes calls only behind a turn of the user or of results.
 */
export function toPrompt(
  messages: readonly Turn[],
  target: PromptTarget,
  sendsThoughts = true,
): PromptMessage[] {
  const { urls, version } = target
  const prompt: PromptMessage[] = []
  const ids = new CallIds(callIdOf(target))
  /** The names of calls by their ids. */
  const names = new Map<string, string>()
  let results: PromptPart[] | undefined
  /** The last reply, if it takes those that follow it. */
  let reply: PromptPart[] | undefined
  for (const message of systemFirst(messages, target)) {
    if (message.role !== 'tool') results = undefined
    if (message.role !== 'assistant') reply = undefined
    switch (message.role) {
      case 'system':
      case 'developer': {
        const content = message.content.map(({ text }) => text).join('\n')
        if (content === '') break
        prompt.push({ role: 'system', content, ...(message.content.some(({ cache }) => cache) && CACHE) })
        break
      }
      case 'user': {
        const content = isClaude(target) ? message.content.filter(isNotBlank) : message.content
        if (content.length === 0 && message.content.length > 0) break
        prompt.push({ role: 'user', content: content.map((part) => toPart(part, version, urls)) })
        break
      }
      case 'assistant': {
        const content = toAssistantParts(
          sendsThoughts ? message : withoutThoughts(message),
          target,
          ids,
          names,
        )
        if (content.length === 0) break
        if (reply !== undefined) {
          for (const part of content) reply.push(part)
          break
        }
        if (isGemini(target)) {
          reply = content
          const last = prompt.at(-1)
          if (last === undefined || last.role === 'system') prompt.push(BEGINNING)
        }
        prompt.push({ role: 'assistant', content })
        break
      }
      case 'tool': {
        if (results === undefined) {
          results = []
          prompt.push({ role: 'tool', content: results })
        }
        const toolCallId = ids.ofResult(message.toolCallId)
        const toolName = names.get(toolCallId) ?? toolCallId
        const output = toOutput(message.content, version, urls)
        results.push({ type: 'tool-result', toolCallId, toolName, output })
      }
    }
  }
  return prompt
}

/** Short enough for what every estimate of a prompt adds to it. */
const BEGINNING: PromptMessage = {
  role: 'user',
  content: [{ type: 'text', text: 'The beginning of this conversation is missing.' }],
}

function systemFirst(messages: readonly Turn[], model: ModelNames): readonly Turn[] {
  if (!isClaude(model) && !isGemini(model)) return messages
  return [...messages.filter(isInstructions), ...messages.filter((message) => !isInstructions(message))]
}

/** Claude refuses blank text. */
function isNotBlank(part: Part): boolean {
  return part.type !== 'text' || part.text.trim() !== ''
}

function toPart(part: Part, version: SpecificationVersion, urls: SupportedUrls): PromptPart {
  const cache = part.cache ? CACHE : {}
  if (part.type === 'text') return { type: 'text', text: part.text, ...cache }
  return { type: 'file', ...toFilePart(part, version, urls), ...cache }
}

function withoutThoughts(answer: Answer): Answer {
  return { ...answer, thoughts: [] }
}

function toAssistantParts(
  message: Answer,
  model: ModelNames,
  ids: CallIds,
  names: Map<string, string>,
): PromptPart[] {
  const options = signedOptions(message, model)
  return [
    ...thoughtParts(message, model),
    ...message.content
      .filter(isNotBlank)
      .map((part) => ({ type: 'text', text: part.text, ...(part.cache && CACHE) })),
    ...message.toolCalls.map((call, index) => {
      const toolCallId = ids.ofCall(call.id)
      names.set(toolCallId, call.name)
      return {
        type: 'tool-call',
        toolCallId,
        toolName: call.name,
        input: withDigits(inputOf(call)),
        ...(call.cache && CACHE),
        ...options[index],
      }
    }),
  ]
}

function toOutput(content: readonly Part[], version: SpecificationVersion, urls: SupportedUrls): JsonObject {
  const texts = content.filter((part) => part.type === 'text').map(({ text }) => text)
  if (texts.length === content.length) return { type: 'text', value: texts.join('\n') }
  const value = content.map((part) =>
    part.type === 'text' ? { type: 'text', text: part.text } : toResultPart(part, version, urls),
  )
  return { type: 'content', value }
}
