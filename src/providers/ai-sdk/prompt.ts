import { withDigits } from '../../protocol/exact-data.js'
import type { JsonObject } from '../../protocol/json-values.js'
import { CallNames } from '../openai-input/call-names.js'
import type { ContentPart } from '../openai-input/content.js'
import type { InputMessage } from '../openai-input/messages.js'
import { toFilePart, toResultPart } from './media.js'
import { isClaude, isGemini, type ModelNames, signedOptions, thoughtParts } from './signatures.js'
import type { PromptMessage, PromptPart, SpecificationVersion, SupportedUrls } from './specification.js'

/** The only provider of the AI SDK that must be told where its cache ends. Others ignore these options. */
const CACHE = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }

export interface PromptTarget extends ModelNames {
  readonly version: SpecificationVersion
  readonly urls: SupportedUrls
}

/**
 * Converts messages to a prompt of the specification. Consecutive tool results form one message. Each has the name of
 * the call that it answers, as the specification requires. A call that was interrupted and has no result gets an empty
 * one, since providers refuse it otherwise. Messages without content are omitted, except those of users.
 *
 * Packages of Claude and Gemini accept system messages only at the beginning, so all of them are moved there.
 */
export function toPrompt(messages: readonly InputMessage[], target: PromptTarget): PromptMessage[] {
  const { urls, version } = target
  const prompt: PromptMessage[] = []
  const calls = new CallNames(isClaude(target))
  const names = new Map<string, string>()
  let results: PromptPart[] | undefined
  const addResult = (toolCallId: string, output: JsonObject): void => {
    if (results === undefined) {
      results = []
      prompt.push({ role: 'tool', content: results })
    }
    const toolName = names.get(toolCallId) ?? toolCallId
    results.push({ type: 'tool-result', toolCallId: calls.idOf(toolCallId), toolName, output })
  }
  const unanswered = new Set<string>()
  for (const message of systemFirst(messages, target)) {
    if (message.role !== 'tool') {
      for (const id of unanswered) addResult(id, { type: 'text', value: '' })
      unanswered.clear()
      results = undefined
    }
    switch (message.role) {
      case 'system': {
        const content = message.content.map(({ text }) => text).join('\n')
        if (content === '') break
        prompt.push({ role: 'system', content, ...(message.content.some(({ cache }) => cache) && CACHE) })
        break
      }
      case 'user':
        prompt.push({ role: 'user', content: message.content.map((part) => toPart(part, version, urls)) })
        break
      case 'assistant': {
        const content = toAssistantParts(message, target, calls)
        for (const call of message.toolCalls) {
          names.set(call.id, calls.nameOf(call.name))
          unanswered.add(call.id)
        }
        if (content.length > 0) prompt.push({ role: 'assistant', content })
        break
      }
      case 'tool': {
        unanswered.delete(message.toolCallId)
        addResult(message.toolCallId, toOutput(message.content, version, urls))
      }
    }
  }
  return prompt
}

function systemFirst(messages: readonly InputMessage[], model: ModelNames): readonly InputMessage[] {
  if (!isClaude(model) && !isGemini(model)) return messages
  const isSystem = ({ role }: InputMessage) => role === 'system'
  return [...messages.filter(isSystem), ...messages.filter((message) => !isSystem(message))]
}

function toPart(part: ContentPart, version: SpecificationVersion, urls: SupportedUrls): PromptPart {
  const cache = part.cache ? CACHE : {}
  if (part.type === 'text') return { type: 'text', text: part.text, ...cache }
  return { type: 'file', ...toFilePart(part, version, urls), ...cache }
}

function toAssistantParts(
  message: InputMessage & { role: 'assistant' },
  model: ModelNames,
  calls: CallNames,
): PromptPart[] {
  const options = signedOptions(message, model)
  return [
    ...thoughtParts(message, model),
    ...message.content
      .filter(({ text }) => text.trim() !== '')
      .map((part) => ({ type: 'text', text: part.text, ...(part.cache && CACHE) })),
    ...message.toolCalls.map((call, index) => ({
      type: 'tool-call',
      toolCallId: calls.newId(call.id),
      toolName: calls.nameOf(call.name),
      input: withDigits(call.input),
      ...options[index],
    })),
  ]
}

function toOutput(
  content: readonly ContentPart[],
  version: SpecificationVersion,
  urls: SupportedUrls,
): JsonObject {
  const texts = content.filter((part) => part.type === 'text').map(({ text }) => text)
  if (texts.length === content.length) return { type: 'text', value: texts.join('\n') }
  const value = content.map((part) =>
    part.type === 'text' ? { type: 'text', text: part.text } : toResultPart(part, version, urls),
  )
  return { type: 'content', value }
}
