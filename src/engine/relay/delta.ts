import { ProviderError } from '../../errors.js'
import { isObject, isText, type JsonObject } from '../../protocol/json-values.js'

export function invalidReply(what: string): ProviderError {
  return new ProviderError('invalid-response', `The provider's reply cannot be read: ${what}.`)
}

/**
 * Mends the text of a delta or message in place. Content is then a string or null; parts, as some providers send them,
 * have become text and reasoning. Reasoning stands under both names that clients read, the provider's own first: when a
 * client sends both back, their order tells which of them the provider knows.
 */
export function mendText(fields: JsonObject): void {
  const { content } = fields
  if (Array.isArray(content)) {
    const parts = joinParts(content)
    fields.content = parts.text
    if (parts.reasoning !== '') fields.reasoning = parts.reasoning
  } else if (content !== undefined && content !== null && typeof content !== 'string') {
    throw invalidReply('content is neither text nor parts')
  }
  const [own, other] = isText(fields.reasoning)
    ? (['reasoning', 'reasoning_content'] as const)
    : (['reasoning_content', 'reasoning'] as const)
  const reasoning = fields[own]
  if (other in fields && !isText(fields[other])) delete fields[other]
  if (isText(reasoning)) fields[other] = reasoning
  else if (own in fields) delete fields[own]
}

/** Whether a delta or message holds more than a role and empty strings. */
export function hasToken(fields: JsonObject): boolean {
  return (
    isText(fields.content) ||
    isText(fields.reasoning) ||
    isText(fields.refusal) ||
    isFilled(fields.tool_calls) ||
    isFilled(fields.images) ||
    isFilled(fields.reasoning_details) ||
    isObject(fields.audio) ||
    isObject(fields.function_call)
  )
}

/** Hands each piece of text that counts as output to `add`, reasoning once. */
export function eachText(fields: JsonObject, add: (text: string) => void): void {
  for (const value of [fields.content, fields.reasoning, fields.refusal]) if (isText(value)) add(value)
  const calls = Array.isArray(fields.tool_calls) ? [...fields.tool_calls] : []
  if (isObject(fields.function_call)) calls.push({ function: fields.function_call })
  for (const call of calls as JsonObject[]) {
    const details = call.function ?? call.custom
    if (!isObject(details)) continue
    for (const value of [details.name, details.arguments, details.input]) if (isText(value)) add(value)
  }
}

function joinParts(parts: readonly unknown[]): { text: string; reasoning: string } {
  let text = ''
  let reasoning = ''
  for (const part of parts) {
    if (!isObject(part)) throw invalidReply('a part of the content is not an object')
    if (typeof part.text === 'string') text += part.text
    else if (typeof part.thinking === 'string') reasoning += part.thinking
    else if (Array.isArray(part.thinking)) reasoning += joinParts(part.thinking).text
  }
  return { text, reasoning }
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}
