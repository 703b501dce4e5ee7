import type { ChatRequest } from '../../protocol/chat-request.js'
import type { TokenCounter } from './token-counter.js'

export interface PromptEstimate {
  /** Errs high: what a hold covers. */
  readonly atMost: number
  /** Errs low, text only: what is charged where the provider did not say. */
  readonly atLeast: number
}

const TOKENS_A_MESSAGE = 8
const TOKENS_AN_IMAGE = 1_600
const TOKENS_ANOTHER_PART = 8_000

/** Estimates the prompt tokens of a request from its messages, tools, functions and response format. */
export function estimatePrompt(request: ChatRequest, counter: TokenCounter): PromptEstimate {
  const text = counter.tally()
  let extra = 0
  const addSerialised = (value: unknown): void => {
    if (value !== undefined && value !== null) text.add(JSON.stringify(value))
  }
  for (const message of request.messages) {
    extra += TOKENS_A_MESSAGE
    for (const [field, value] of Object.entries(message)) {
      if (field === 'role') continue
      if (typeof value === 'string') text.add(value)
      else if (field === 'content' && Array.isArray(value)) extra += addParts(value, (part) => text.add(part))
      else addSerialised(value)
    }
  }
  addSerialised(request.tools)
  addSerialised(request.functions)
  addSerialised(request.response_format)
  return { atMost: text.atMost() + extra, atLeast: text.atLeast() }
}

/** Adds the text of content parts and returns the tokens of the others, whatever their bytes. */
function addParts(parts: readonly unknown[], addText: (text: string) => void): number {
  let tokens = 0
  for (const part of parts) {
    const { type, text } = (typeof part === 'object' && part !== null ? part : {}) as Record<string, unknown>
    if (typeof text === 'string') addText(text)
    else tokens += type === 'image_url' || type === 'image' ? TOKENS_AN_IMAGE : TOKENS_ANOTHER_PART
  }
  return tokens
}
