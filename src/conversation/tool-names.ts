import { createHash } from 'node:crypto'
import { isObject, type JsonObject } from '../protocol/json-values.js'
import type { ConversationRequest } from './conversation.js'

/** The names of tools that an API takes. All of them take ASCII letters, digits, `_` and `-`. */
export interface NameRule {
  readonly fitting: RegExp
  readonly mostChars: number
}

/** The names that every API takes. Gemini and Kimi take no digit or hyphen as the first character. */
export const PLAIN_NAME: NameRule = { fitting: /^[a-z_][\w-]{0,63}$/i, mostChars: 64 }

const MOST_CHARS = 128
const DIGEST_CHARS = 8

/**
 * Returns a name of ASCII letters, digits, `_` and `-` that no digit or hyphen begins. Of a name that is too long
 * everywhere, only a beginning that still is.
 */
function spelled(name: string): string {
  const clean = name.slice(0, MOST_CHARS + 1).replace(/[^\w-]/g, '_')
  return /^[\d-]/.test(clean) ? `_${clean}` : clean
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')

function withDigest(name: string, mostChars: number, digest: string): string {
  return `${spelled(name).slice(0, mostChars - DIGEST_CHARS - 1)}_${digest.slice(0, DIGEST_CHARS)}`
}

/** Returns the longest name that a provider may get instead of this one. Undefined if every provider gets this one. */
export function longestName(name: string): string | undefined {
  return name === '' || PLAIN_NAME.fitting.test(name)
    ? undefined
    : withDigest(name, MOST_CHARS, digestOf(name))
}

/**
 * Returns the names that an API gets instead of those that it does not take: each once, and none that is in use. A name
 * depends on the given one alone, unless two of them would be the same.
 */
export function fittingNames(names: ReadonlySet<string>, rule: NameRule): ReadonlyMap<string, string> {
  const { fitting, mostChars } = rule
  const used = new Set(names)
  const sent = new Map<string, string>()
  for (const name of names) {
    if (name === '' || fitting.test(name)) continue
    let fitted = spelled(name)
    // A long name is hashed once, however many others have the names that it would get.
    for (let digest = ''; fitted.length > mostChars || used.has(fitted); ) {
      digest = digestOf(digest === '' ? name : digest)
      fitted = withDigest(name, mostChars, digest)
    }
    used.add(fitted)
    sent.set(name, fitted)
  }
  return sent
}

/** The places of tool names in a value: `NAME` is one, a list has one place for all its elements. */
export type NamePlace =
  | typeof NAME
  | readonly [NamePlace]
  | { readonly [member: string]: NamePlace }
  | ((value: JsonObject) => NamePlace | undefined)
const NAME = Symbol('the name of a tool')

/** The places that a typed value can have. Its members are checked, so that none is forgotten once it has another name. */
type PlaceIn<Value> = unknown extends Value
  ? NamePlace
  : Value extends string
    ? typeof NAME
    : Value extends readonly (infer Item)[]
      ? readonly [PlaceIn<Item>]
      : { readonly [Member in keyof Value]?: PlaceIn<NonNullable<Value[Member]>> }

/** Tools of the provider's own keep their names. */
const NAMED = new Set<unknown>([undefined, 'function', 'custom'])
const named = (place: NamePlace) => (value: JsonObject) => (NAMED.has(value.type) ? place : undefined)

const IN_KIND: NamePlace = { function: { name: NAME }, custom: { name: NAME } }
const CHAT_TOOL = named(IN_KIND)
const CHAT_REPLY: NamePlace = {
  function_call: { name: NAME },
  tool_calls: [named({ ...IN_KIND, name: NAME })],
}
const SPEAKERS = new Set<unknown>(['system', 'developer', 'user'])
const CHAT_MESSAGE = ({ role }: JsonObject): NamePlace | undefined => {
  if (role === 'assistant') return CHAT_REPLY
  return SPEAKERS.has(role) ? undefined : { name: NAME }
}

const CHAT_SETTINGS = {
  tools: [CHAT_TOOL],
  functions: [{ name: NAME }],
  tool_choice: { ...IN_KIND, allowed_tools: { tools: [CHAT_TOOL] } },
  function_call: { name: NAME },
} as const

/** Where a chat has names of tools. */
export const NAMES_IN_CHAT: NamePlace = { ...CHAT_SETTINGS, messages: [CHAT_MESSAGE] }

/** Where a conversation has them. */
export const NAMES_IN_CONVERSATION: NamePlace = {
  turns: [{ toolCalls: [{ name: NAME }] }],
  settings: {
    tools: [{ name: NAME }],
    toolChoice: { name: NAME, tools: [{ name: NAME }] },
    others: CHAT_SETTINGS,
  },
} satisfies PlaceIn<ConversationRequest>

const RESPONSES_TOOL = ({ type }: JsonObject): NamePlace | undefined => {
  if (type === 'namespace') return { tools: [RESPONSES_TOOL] }
  return NAMED.has(type) ? { name: NAME } : undefined
}
const ITEMS: ReadonlyMap<unknown, NamePlace> = new Map<unknown, NamePlace>([
  ['function_call', { name: NAME }],
  ['custom_tool_call', { name: NAME }],
  ['tool_search_output', { tools: [RESPONSES_TOOL] }],
  ['additional_tools', { tools: [RESPONSES_TOOL] }],
])

/** Where a request of the Responses API has names of tools. */
export const NAMES_IN_RESPONSES: NamePlace = {
  tools: [RESPONSES_TOOL],
  tool_choice: (choice) =>
    choice.type === 'allowed_tools' ? { tools: [RESPONSES_TOOL] } : RESPONSES_TOOL(choice),
  input: [({ type }) => ITEMS.get(type)],
}

const BLOCKS: ReadonlyMap<unknown, NamePlace> = new Map<unknown, NamePlace>([
  ['tool_use', { name: NAME }],
  ['tool_result', { content: [({ type }) => BLOCKS.get(type)] }],
  ['tool_reference', { tool_name: NAME }],
])
/** Where a block of the Messages API has them. */
export const NAMES_IN_BLOCK = ({ type }: JsonObject): NamePlace | undefined => BLOCKS.get(type)

/** Where a request of the Messages API has names of tools. */
export const NAMES_IN_MESSAGES: NamePlace = {
  tools: [named({ name: NAME })],
  tool_choice: { name: NAME },
  messages: [{ content: [NAMES_IN_BLOCK] }],
}

/** Returns a value with other names of tools. Whatever has no other name is returned as the same object. */
export function renamed<Value>(value: Value, place: NamePlace, rename: (name: string) => string): Value
export function renamed(value: unknown, place: NamePlace, rename: (name: string) => string): unknown {
  if (place === NAME) return typeof value === 'string' ? rename(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (isList(place)) return renamedList(value, place[0], rename)
  if (!isObject(value)) return value
  if (typeof place === 'function') {
    const inner = place(value)
    return inner === undefined ? value : renamed(value, inner, rename)
  }
  let copy: JsonObject | undefined
  for (const member in place) {
    // Own members only: a polluted `Object.prototype` would make every place endless.
    if (!Object.hasOwn(place, member)) continue
    const given = value[member]
    if (given === undefined || given === null) continue
    const other = renamed(given, place[member]!, rename)
    if (other === given) continue
    copy ??= Object.assign({}, value)
    copy[member] = other
  }
  return copy ?? value
}

const isList = (place: NamePlace): place is readonly [NamePlace] => Array.isArray(place)

/** Some providers send one element instead of a list. */
function renamedList(value: object, place: NamePlace, rename: (name: string) => string): unknown {
  if (!Array.isArray(value)) return renamed(value, place, rename)
  let copy: unknown[] | undefined
  for (let at = 0; at < value.length; at++) {
    const given: unknown = value[at]
    const other = renamed(given, place, rename)
    if (other === given) continue
    copy ??= value.slice()
    copy[at] = other
  }
  return copy ?? value
}
