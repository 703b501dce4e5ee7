import type { JsonObject } from '../../protocol/json-values.js'
import type { ContentPart } from '../openai-input/content.js'
import type { InputMessage } from '../openai-input/messages.js'
import { toFilePart, toResultPart } from './media.js'
import type { PromptMessage, PromptPart, SpecificationVersion, SupportedUrls } from './specification.js'

/** The only provider of the AI SDK that must be told where its cache ends. Others ignore these options. */
const CACHE = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }

/**
 * Converts messages to a prompt of the specification. Consecutive tool results form one message. Each has the name of
 * the call that it answers, as the specification requires.
 */
export function toPrompt(
  messages: readonly InputMessage[],
  version: SpecificationVersion,
  urls: SupportedUrls,
): PromptMessage[] {
  const prompt: PromptMessage[] = []
  const names = new Map<string, string>()
  let results: PromptPart[] | undefined
  for (const message of messages) {
    if (message.role !== 'tool') results = undefined
    switch (message.role) {
      case 'system':
        prompt.push({
          role: 'system',
          content: message.content.map(({ text }) => text).join('\n'),
          ...(message.content.some(({ cache }) => cache) ? CACHE : {}),
        })
        break
      case 'user':
        prompt.push({ role: 'user', content: message.content.map((part) => toPart(part, version, urls)) })
        break
      case 'assistant':
        for (const call of message.toolCalls) names.set(call.id, call.name)
        prompt.push({ role: 'assistant', content: toAssistantParts(message) })
        break
      case 'tool': {
        if (results === undefined) {
          results = []
          prompt.push({ role: 'tool', content: results })
        }
        const { toolCallId } = message
        results.push({
          type: 'tool-result',
          toolCallId,
          toolName: names.get(toolCallId) ?? toolCallId,
          output: toOutput(message.content, version, urls),
        })
      }
    }
  }
  return prompt
}

function toPart(part: ContentPart, version: SpecificationVersion, urls: SupportedUrls): PromptPart {
  const cache = part.cache ? CACHE : {}
  if (part.type === 'text') return { type: 'text', text: part.text, ...cache }
  return { type: 'file', ...toFilePart(part, version, urls), ...cache }
}

function toAssistantParts(message: InputMessage & { role: 'assistant' }): PromptPart[] {
  return [
    ...(message.reasoning === undefined ? [] : [{ type: 'reasoning', text: message.reasoning }]),
    ...message.content.map((part) => ({ type: 'text', text: part.text, ...(part.cache ? CACHE : {}) })),
    ...message.toolCalls.map(({ id, name, input }) => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: name,
      input,
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
