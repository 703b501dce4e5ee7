import {
  isObject,
  isText,
  isTooDeep,
  type JsonObject,
  MAX_DEPTH,
  saysNothing,
} from '../protocol/json-values.js'
import { scalarText } from '../protocol/scalars.js'
import { mendAnnotations } from './annotations.js'
import { joinParts } from './content-parts.js'
import type { Losses } from './losses.js'
import { reasoningTextIn, signedDetail, textOfDetails } from './reasoning-shapes.js'

/**
 * Makes the members of a delta or message those that clients read, in place: `content` and `refusal` are text, parts are
 * distributed among the members they belong to, and lists are lists. Reasoning of any name and shape becomes text in
 * both `reasoning` and `reasoning_content`. The name that the provider used comes first.
 *
 * @param readsDetails whether to take the text of reasoning from `reasoning_details` if it is nowhere else
 */
export function mendText(fields: JsonObject, losses: Losses, readsDetails: boolean): void {
  const { content } = fields
  if (typeof content !== 'string' && content !== undefined && content !== null) mendContent(fields, losses)
  const { refusal } = fields
  if (typeof refusal !== 'string' && refusal !== undefined && refusal !== null) mendRefusal(fields, losses)
  if (fields.annotations !== undefined) mendAnnotations(fields, losses)
  for (const name of LISTS) {
    const value = fields[name]
    if (value !== undefined && value !== null && !Array.isArray(value)) mendList(fields, name, losses)
  }
  for (const name of OTHER_NAMES) {
    if (fields[name] !== undefined && fields[name] !== null) mendThinking(fields, name, losses)
  }
  if (Array.isArray(fields.reasoning_details)) mendPlaces(fields, fields.reasoning_details, losses)
  if (readsDetails && fields.reasoning_details !== undefined) mendDetails(fields, losses)
  if ('reasoning' in fields || 'reasoning_content' in fields) mendReasoning(fields, losses)
}

function mendContent(fields: JsonObject, losses: Losses): void {
  const { content } = fields
  const scalar = scalarText(content)
  if (scalar !== undefined) {
    fields.content = scalar
    losses.mend('text-coerced')
    return
  }
  if (isObject(content) && saysNothing(content)) {
    fields.content = null
    losses.mend('part-skipped')
    return
  }
  const isPart = isObject(content) && (content.type !== undefined || content.text !== undefined)
  if (!Array.isArray(content) && !isPart) {
    losses.add('content is neither text nor parts', content)
    fields.content = null
    return
  }
  const parts = joinParts(Array.isArray(content) ? content : [content], losses)
  losses.mend('content-mapped')
  fields.content = parts.text
  if (parts.reasoning !== '') {
    if (isText(fields.reasoning)) fields.reasoning += parts.reasoning
    else fields.reasoning = parts.reasoning
  }
  if (parts.refusal !== '') fields.refusal = (isText(fields.refusal) ? fields.refusal : '') + parts.refusal
  append(fields, 'images', parts.images)
  append(fields, 'tool_calls', parts.toolCalls)
  append(fields, 'reasoning_details', parts.reasoningDetails)
  append(fields, 'annotations', parts.annotations)
  append(fields, 'content_parts', parts.others)
}

/** Converts a refusal to text. Some providers send it in parts. */
function mendRefusal(fields: JsonObject, losses: Losses): void {
  const { refusal } = fields
  const text = reasoningTextIn(refusal)
  if (text === '') {
    delete fields.refusal
    losses.mend('member-dropped', 'refusal')
    return
  }
  fields.refusal = text
  losses.mend(scalarText(refusal) === undefined ? 'content-mapped' : 'text-coerced')
}

function append(fields: JsonObject, name: string, items: readonly unknown[]): void {
  if (items.length === 0) return
  const known = fields[name]
  fields[name] = Array.isArray(known) ? [...known, ...items] : items
}

/** Members that clients read as lists. */
const LISTS = ['reasoning_details', 'images'] as const

/** Puts a single item into a list. */
function mendList(fields: JsonObject, name: (typeof LISTS)[number], losses: Losses): void {
  const item = fields[name]
  if (isObject(item) && !saysNothing(item)) {
    fields[name] = [item]
    losses.mend(name === 'images' ? 'content-mapped' : 'reasoning-mapped')
    return
  }
  delete fields[name]
  losses.mend('member-dropped', name)
}

/** Further names of reasoning. Copilot uses the second. */
const OTHER_NAMES = ['thinking', 'reasoning_text']

/** Moves reasoning from another name to one that clients read. */
function mendThinking(fields: JsonObject, name: string, losses: Losses): void {
  const thinking = fields[name]
  if (typeof thinking !== 'string' && typeof thinking !== 'object') return
  const text = reasoningTextIn(thinking)
  const detail = isObject(thinking) ? signedDetail(thinking, text) : undefined
  if (text === '' && detail === undefined) return
  delete fields[name]
  if (detail !== undefined) append(fields, 'reasoning_details', [detail])
  if (text !== '' && !hasReasoning(fields)) fields.reasoning = text
  losses.mend('reasoning-mapped')
}

/** Removes the index and the id of a detail if a strict client would drop the detail because of them. */
function mendPlaces(fields: JsonObject, details: readonly unknown[], losses: Losses): void {
  if (!details.some(isOddlyPlaced)) return
  fields.reasoning_details = details.map((detail) => {
    if (!isOddlyPlaced(detail)) return detail
    const { id, index, ...rest } = detail
    return { ...rest, ...(isText(id) && { id }), ...(typeof index === 'number' && { index }) }
  })
  losses.mend('member-dropped', 'reasoning_details.index')
}

function isOddlyPlaced(detail: unknown): detail is JsonObject {
  if (!isObject(detail)) return false
  const { id = null, index = 0 } = detail
  return typeof index !== 'number' || (id !== null && typeof id !== 'string')
}

/** Puts reasoning that came only in details into a field that clients read. */
function mendDetails(fields: JsonObject, losses: Losses): void {
  if (hasReasoning(fields)) return
  const text = textOfDetails(fields.reasoning_details)
  if (text === '') return
  fields.reasoning = text
  losses.mend('reasoning-mapped')
}

function hasReasoning({ reasoning, reasoning_content: content }: JsonObject): boolean {
  return reasoningTextIn(reasoning) !== '' || reasoningTextIn(content) !== ''
}

function mendReasoning(fields: JsonObject, losses: Losses): void {
  for (const name of ['reasoning', 'reasoning_content'] as const) {
    const value = fields[name]
    if (value === undefined || value === null || typeof value === 'string') continue
    const text = reasoningTextIn(value)
    const detail = isObject(value) ? signedDetail(value, text) : undefined
    if (detail !== undefined) append(fields, 'reasoning_details', [detail])
    if (text === '' && detail === undefined) losses.mend('member-dropped', name)
    else losses.mend(scalarText(value) === undefined ? 'reasoning-mapped' : 'text-coerced')
    if (text === '') delete fields[name]
    else fields[name] = text
  }
  const [own, other] = isText(fields.reasoning)
    ? (['reasoning', 'reasoning_content'] as const)
    : (['reasoning_content', 'reasoning'] as const)
  const reasoning = fields[own]
  if (other in fields && !isText(fields[other])) delete fields[other]
  if (isText(reasoning)) fields[other] = reasoning
  else if (own in fields) delete fields[own]
}

/** Returns the delta of a choice of the older completions API, which some servers send. Removes its text from `rest`. */
export function legacyDelta(rest: JsonObject, losses: Losses): JsonObject | undefined {
  const { text } = rest
  if (typeof text !== 'string') return undefined
  delete rest.text
  losses.mend('content-mapped')
  return { content: text }
}

/** Whether a delta or message contains more than a role and empty strings. */
export function hasToken(fields: JsonObject): boolean {
  return (
    isText(fields.content) ||
    isText(fields.reasoning ?? fields.reasoning_content) ||
    isText(fields.refusal) ||
    isFilled(fields.tool_calls) ||
    isFilled(fields.images) ||
    isFilled(fields.reasoning_details) ||
    isFilled(fields.content_parts) ||
    isObject(fields.audio) ||
    isObject(fields.function_call)
  )
}

/** Calls `add` with each piece of text that counts as output, with reasoning of two names only once. */
export function eachText(fields: JsonObject, add: (text: string) => void): void {
  const { content, reasoning, reasoning_content: sameReasoning, refusal } = fields
  for (const value of [content, reasoning ?? sameReasoning, refusal]) if (isText(value)) add(value)
  const calls: JsonObject[] = Array.isArray(fields.tool_calls) ? [...fields.tool_calls] : []
  if (isObject(fields.function_call)) calls.push({ function: fields.function_call })
  for (const call of calls) {
    const details = call.function ?? call.custom
    if (!isObject(details)) continue
    for (const value of [details.name, details.arguments, details.input]) if (isText(value)) add(value)
  }
}

/** The levels that remain for a choice in an event or body of 128 levels, and for a list item in its delta or message. */
const CHOICE_LEVELS = MAX_DEPTH - 2
const ITEM_LEVELS = MAX_DEPTH - 5

/**
 * Returns choices without the parts that are nested too deeply. Of a list in a delta or message, only such items are
 * removed.
 */
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

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}
