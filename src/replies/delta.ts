import { ProviderError } from '../base/errors.js'
import { isObject, isText, isTooDeep, type JsonObject, MAX_DEPTH } from '../protocol/json-values.js'

export function invalidReply(what: string): ProviderError {
  return new ProviderError('invalid-response', `The provider's reply cannot be read: ${what}.`)
}

/**
 * Accepts pieces of the model's output that cannot be read. The rest is read all the same: a caller can make the model say
 * them, and the provider bills for it.
 *
 * An object, not a function: with a closure for each choice, V8 kept whole calls past its small collections, and a call
 * took a third more CPU.
 */
export interface Losses {
  readonly count: number
  add(what: string, piece: unknown): void
}

/**
 * Mends the text of a delta or message in place. Content is then a string or null; parts, as some providers send them,
 * have become text and reasoning. Reasoning stands under both names that clients read, the provider's own first: when a
 * client sends both back, their order tells which of them the provider knows.
 */
export function mendText(fields: JsonObject, losses: Losses): void {
  const { content } = fields
  if (Array.isArray(content)) {
    const parts = joinParts(content, losses)
    fields.content = parts.text
    if (parts.reasoning !== '') fields.reasoning = parts.reasoning
  } else if (content !== undefined && content !== null && typeof content !== 'string') {
    losses.add('content is neither text nor parts', content)
    fields.content = null
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

/** Hands each piece of text in a value of any shape to `add`, names of fields left out. */
export function eachTextIn(value: unknown, add: (text: string) => void): void {
  const rest: unknown[] = [value]
  while (rest.length > 0) {
    const one = rest.pop()
    if (typeof one === 'object' && one !== null) for (const member of Object.values(one)) rest.push(member)
    else if (isText(one)) add(one)
    else if (typeof one === 'number') add(String(one))
  }
}

export const DROPPED_BY_PROVIDER = 'the provider dropped output of the model that it could not read'

/** A choice of an event or a body nested 128 deep, and an item of a list in its delta or message, have so many levels left. */
const CHOICE_LEVELS = MAX_DEPTH - 2
const ITEM_LEVELS = MAX_DEPTH - 5

/** Choices without those of their parts that are nested too deeply: an item of a list in a delta or message goes alone. */
export function withoutDepths(choices: readonly unknown[], losses: Losses): unknown[] {
  const fits = (value: unknown, levels: number): boolean => {
    if (typeof value !== 'object' || value === null || !isTooDeep(value, levels)) return true
    losses.add(`it is nested deeper than ${MAX_DEPTH}`, value)
    return false
  }
  const shallow = (value: unknown, levels: number): unknown => {
    if (levels === ITEM_LEVELS || typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.filter((item) => fits(item, levels - 1))
    const members = Object.entries(value).map(
      ([name, member]) => [name, shallow(member, levels - 1)] as const,
    )
    return Object.fromEntries(members.filter(([, member]) => fits(member, levels - 1)))
  }
  return choices.map((choice) => shallow(choice, CHOICE_LEVELS))
}

function joinParts(parts: readonly unknown[], losses: Losses): { text: string; reasoning: string } {
  let text = ''
  let reasoning = ''
  for (const part of parts) {
    if (!isObject(part)) losses.add('a part of the content is not an object', part)
    else if (typeof part.text === 'string') text += part.text
    else if (typeof part.thinking === 'string') reasoning += part.thinking
    else if (Array.isArray(part.thinking)) reasoning += joinParts(part.thinking, losses).text
  }
  return { text, reasoning }
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}
