import { ProviderError } from '../base/errors.js'
import { isObject, isText, isTooDeep, type JsonObject, MAX_DEPTH } from '../protocol/json-values.js'

export function invalidReply(what: string): ProviderError {
  return new ProviderError('invalid-response', `The provider's reply cannot be read: ${what}.`)
}

/**
 * Collects unreadable pieces of the model's output. The rest of a reply is still read, because a caller can provoke such
 * pieces and the provider bills for them.
 *
 * It is an object and not a function: with a closure for each choice, whole calls survived V8's minor collections, and a
 * call used a third more CPU.
 */
export interface Losses {
  readonly count: number
  add(what: string, piece: unknown): void
}

/**
 * Normalises the text of a delta or message in place. Content becomes a string or null; the parts that some providers
 * send become text and reasoning. Reasoning gets both names that clients read, the provider's own name first: if a client
 * sends both back, their order shows which one the provider knows.
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

/** Whether a delta or message contains more than a role and empty strings. */
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

/** Calls `add` with each piece of text that counts as output, with reasoning only once. */
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

/** Calls `add` with each piece of text in a value of any shape, except the names of fields. */
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

/** The levels that remain for a choice in an event or body of 128 levels, and for a list item in its delta or message. */
const CHOICE_LEVELS = MAX_DEPTH - 2
const ITEM_LEVELS = MAX_DEPTH - 5

/** Returns choices without the parts that are nested too deeply. Items of a list in a delta or message are removed alone. */
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
