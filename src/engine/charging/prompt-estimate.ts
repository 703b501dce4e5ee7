import type { ChatRequest } from '../../protocol/chat-request.js'
import type { TokenCounter, TokenTally } from './token-counter.js'

export interface PromptEstimate {
  /** Errs high: what a hold covers. */
  readonly atMost: number
  /** Errs low, text only: what is charged where the provider did not say. */
  readonly atLeast: number
}

const TOKENS_A_MESSAGE = 8
const TOKENS_AN_IMAGE = 1_600
const TOKENS_ANOTHER_PART = 8_000

/** A role of ordinary length is in the tokens of its message. */
const LONGEST_ROLE_CHARS = 16
const TEXT_PARTS = new Set<unknown>(['text', 'input_text', 'output_text'])
const IMAGE_PARTS = new Set<unknown>(['image_url', 'image'])
/** Of which a provider reads another thing than their text. */
const MEDIA_PARTS = new Set<unknown>([
  ...IMAGE_PARTS,
  ...'input_image input_audio audio audio_url video video_url file input_file document document_url'.split(
    ' ',
  ),
])
/** Other fields are settings where they are short, and may become part of the prompt where they are long. */
const LONGEST_SETTING_BYTES = 256
const PROMPT_FIELDS = new Set(['tools', 'functions', 'response_format'])
/** Counted above, or no part of a prompt. */
const NO_PROMPT = new Set(['model', 'messages', 'user'])

/**
 * Estimates the prompt tokens of a request from its messages, tools, functions and response format; for the hold also
 * from whatever else is long enough to be part of a prompt.
 */
export function estimatePrompt(request: ChatRequest, counter: TokenCounter): PromptEstimate {
  const text = counter.tally()
  const perhaps = counter.tally()
  let extra = 0
  for (const message of request.messages) {
    extra += TOKENS_A_MESSAGE
    for (const field of Object.keys(message)) {
      const value = message[field]
      if (field === 'role') {
        if (message.role.length > LONGEST_ROLE_CHARS) perhaps.add(message.role)
      } else if (field === 'content' && Array.isArray(value)) {
        extra += addParts(value, text, perhaps)
      } else if (value !== undefined && value !== null) {
        text.add(serialised(value))
      }
    }
  }
  for (const field of Object.keys(request)) {
    const value = request[field]
    if (value === undefined || value === null || NO_PROMPT.has(field)) continue
    if (PROMPT_FIELDS.has(field)) text.add(JSON.stringify(value))
    else if (typeof value === 'object' || typeof value === 'string') {
      addIfLong(serialised(value), perhaps)
    }
  }
  return { atMost: text.atMost() + perhaps.atMost() + extra, atLeast: text.atLeast() }
}

function serialised(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Short settings are none of a prompt. */
function addIfLong(setting: string, tally: TokenTally): void {
  if (Buffer.byteLength(setting) > LONGEST_SETTING_BYTES) tally.add(setting)
}

/** Adds the text of content parts and returns the tokens of the others, whatever the bytes of media. */
function addParts(parts: readonly unknown[], text: TokenTally, perhaps: TokenTally): number {
  let tokens = 0
  for (const part of parts) {
    const fields = (typeof part === 'object' && part !== null ? part : {}) as Record<string, unknown>
    const { type } = fields
    const own = type === 'refusal' ? fields.refusal : fields.text
    const hasText = typeof own === 'string'
    if (hasText) text.add(own)
    if (TEXT_PARTS.has(type) || (hasText && (type === undefined || type === 'refusal'))) continue
    tokens += IMAGE_PARTS.has(type) ? TOKENS_AN_IMAGE : TOKENS_ANOTHER_PART
    if (!MEDIA_PARTS.has(type)) addIfLong(serialised(part), perhaps)
  }
  return tokens
}
