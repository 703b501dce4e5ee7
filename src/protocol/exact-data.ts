import { afterSpace, endOfString, endOfValue, membersAt, nextMember } from './json-text.js'
import { isObject, type JsonObject } from './json-values.js'

/**
 * The key of the original text of a JSON Schema or of a call's arguments, for numbers that a JavaScript number cannot
 * represent.
 */
const TEXT = Symbol('exact text')

interface WithText {
  readonly [TEXT]?: string
}

/** Paths that are followed at once. No path is the beginning of another. */
interface Tree {
  readonly isEnd: boolean
  readonly next: ReadonlyMap<string, Tree>
}

function treeOf(paths: readonly (readonly string[])[]): Tree {
  const rests = new Map<string, (readonly string[])[]>()
  for (const [step, ...rest] of paths) {
    if (step !== undefined) rests.set(step, [...(rests.get(step) ?? []), rest])
  }
  return { isEnd: rests.size === 0, next: new Map([...rests].map(([step, rest]) => [step, treeOf(rest)])) }
}

/** The paths of the caller's own JSON, which is passed on digit for digit. `*` is every item of a list. */
const DATA_PLACES = [
  ['tools', '*', 'function', 'parameters'],
  ['tools', '*', 'parameters'],
  ['tools', '*', 'input_schema'],
  ['functions', '*', 'parameters'],
  ['response_format', 'schema'],
  ['response_format', 'json_schema', 'schema'],
  ['text', 'format', 'schema'],
  ['output_config', 'format', 'schema'],
  ['output_format', 'schema'],
  ['messages', '*', 'content', '*', 'input'],
]

const DATA_TREE = treeOf(DATA_PLACES)

/** Callers choose them from all integers of 64 bits. */
const SEEDS = ['seed', 'random_seed'] as const
const EXACT_PLACES = [...DATA_PLACES, ...SEEDS.map((name) => [name])]

/** Few bodies contain such a number, or a string with one. */
const MAYBE_INEXACT = /\d[.eE]|\d{16}/
const NUMBERS = /-?\d[\d.eE+-]*/g

/** The most digits of an integer of 64 bits. */
const EXACT_INTEGER = /^-?\d{1,20}$/

/** An integer that a JavaScript number cannot represent. Whoever does not know it reads the nearest number. */
export class ExactInteger {
  constructor(readonly digits: string) {}

  get [TEXT](): string {
    return this.digits
  }

  toJSON(): number {
    return Number(this.digits)
  }
}

/** Stores the exact text with each schema and seed in a request body in which parsing changes a number. */
export function keepExactData(body: JsonObject, text: string): void {
  if (!mayHaveData(body, text) || !MAYBE_INEXACT.test(text)) return
  for (const name of SEEDS) {
    if (typeof body[name] === 'number' && !Number.isSafeInteger(body[name]))
      keepExactInteger(body, name, text)
  }
  keepTexts(text, afterSpace(text, 0), body, DATA_TREE)
}

/** Rules out most bodies in a fraction of the time of a pattern. A name may be written with escapes. */
function mayHaveData(body: JsonObject, text: string): boolean {
  for (const [name] of EXACT_PLACES) {
    if (name! in body && (name !== 'messages' || text.includes('input') || text.includes('\\u'))) return true
  }
  return false
}

/** As in the parser, the last of duplicate names wins. */
function keepExactInteger(body: JsonObject, name: string, text: string): void {
  for (const member of membersAt(text, afterSpace(text, 0))) {
    if (member.name !== name) continue
    const digits = text.slice(member.from, member.to).trim()
    if (EXACT_INTEGER.test(digits)) body[name] = new ExactInteger(digits)
  }
}

/** The places of arguments in replies of providers that send them as an object, in OpenAI's or Anthropic's shape. */
const ARGUMENT_PLACES = [
  ['choices', '*', 'message', 'tool_calls', '*', 'function', 'arguments'],
  ['choices', '*', 'delta', 'tool_calls', '*', 'function', 'arguments'],
  ['choices', '*', 'message', 'function_call', 'arguments'],
  ['content', '*', 'input'],
  ['content_block', 'input'],
]

const ARGUMENT_TREE = treeOf(ARGUMENT_PLACES)

/** Quotes within a string are escaped, so this can only be the name of an object. */
const OBJECT_ARGUMENTS = /"(?:arguments|input)"\s*:\s*\{/

/** Stores the text with the arguments of each tool call in a reply in which parsing changes a number. */
export function keepExactArguments(reply: JsonObject, text: string): void {
  if (!text.includes('arguments"') && !text.includes('input"')) return
  if (!MAYBE_INEXACT.test(text) || !OBJECT_ARGUMENTS.test(text)) return
  keepTexts(text, afterSpace(text, 0), reply, ARGUMENT_TREE)
}

/** Stores the original text with an object in which parsing changed a number. */
export function keepExactText(value: JsonObject, text: string): JsonObject {
  if (MAYBE_INEXACT.test(text)) keepText(value, text)
  return value
}

/** Returns the JSON text of an object: the stored text, if there is one. */
export function exactTextOf(value: JsonObject): string {
  return (value as WithText)[TEXT] ?? JSON.stringify(value)
}

/** Adds the type `object` to a JSON Schema without a type, and keeps the digits of its text. */
export function ofTypeObject(schema: JsonObject): JsonObject {
  return withMember(schema, 'type', '"object"')
}

/** A schema without a type that has no other keywords is of an object. */
const SAY_NOTHING = new Set(['$schema', '$id', 'title', 'description', 'additionalProperties'])
/** The most text that {@link withProperties} adds to a tool, with the white space of a chat template. */
export const ADDED_PROPERTIES = '\n        "type": "object",\n        "properties": {\n        },'

/** Whether a value is a JSON Schema of objects that does not say which properties they have. */
export function lacksProperties(schema: unknown): schema is JsonObject {
  if (!isObject(schema) || schema.properties !== undefined) return false
  const { type } = schema
  return (
    type === 'object' || (type === undefined && Object.keys(schema).every((name) => SAY_NOTHING.has(name)))
  )
}

/** Adds the type `object` and no properties to a JSON Schema of objects that lacks them. Keeps the digits of its text. */
export function withProperties(schema: JsonObject): JsonObject {
  return withMember(schema.type === undefined ? ofTypeObject(schema) : schema, 'properties', '{}')
}

/** @param json the value of the member */
function withMember(schema: JsonObject, name: string, json: string): JsonObject {
  const text = (schema as WithText)[TEXT]
  const larger: JsonObject = { [name]: JSON.parse(json), ...schema }
  if (text === undefined) return larger
  const isEmpty = Object.keys(schema).length === 0
  keepText(larger, `{"${name}":${json}${isEmpty ? '}' : `,${text.trimStart().slice(1)}`}`)
  return larger
}

/** Since Node 21, `JSON.rawJSON` keeps the text of a number for `JSON.stringify`. */
interface RawJson {
  rawJSON?(text: string): unknown
}
type Reviver = (name: string, value: unknown, context?: { readonly source?: string }) => unknown

/**
 * Returns the value with its digits, for a library that writes the JSON itself. On Node 20, which cannot express them,
 * returns the value as JavaScript read it.
 */
export function withDigits(value: JsonObject): JsonObject {
  const { rawJSON } = JSON as RawJson
  const text = (value as WithText)[TEXT]
  if (text === undefined || rawJSON === undefined) return value
  const revive: Reviver = (_name, member, context) => {
    const source = context?.source
    return typeof member !== 'number' || source === undefined || String(member) === source
      ? member
      : rawJSON(source)
  }
  return JSON.parse(text, revive)
}

/**
 * Returns the value for comparisons: each number that JavaScript writes with other digits becomes a string of its own
 * digits, after a character that no name or text begins with.
 */
export function withDigitTexts(value: JsonObject): JsonObject {
  if (value instanceof ExactInteger) return value
  const text = (value as WithText)[TEXT]
  return text === undefined ? value : JSON.parse(withQuotedDigits(text))
}

/** Returns the numbers of a request that {@link writeExactly} writes with other digits than `JSON.stringify`. */
export function exactNumbers(request: JsonObject): readonly string[] {
  const numbers: string[] = []
  const add = (text: string): false => {
    for (const [from, to] of outsideOfStrings(text)) {
      for (const [number] of text.slice(from, to).matchAll(NUMBERS))
        if (isInexact(number)) numbers.push(number)
    }
    return false
  }
  for (const place of DATA_PLACES) findText(request, place, 0, add)
  return numbers
}

/** Returns the JSON text of a request with the original digits in schemas and arguments. */
export function writeExactly(value: JsonObject, mark: () => string): string {
  if (!hasAnyText(value)) return JSON.stringify(value)
  const texts: string[] = []
  const unique = mark()
  const json = JSON.stringify(value, function (this: JsonObject, key, member: unknown) {
    const given = this[key]
    const exact = isObject(given) ? (given as WithText)[TEXT] : undefined
    return exact === undefined ? member : `${unique}${texts.push(exact) - 1};`
  })
  return json.replaceAll(new RegExp(`"${unique}(\\d+);"`, 'g'), (_all, index) => texts[Number(index)]!)
}

function hasAnyText(value: JsonObject): boolean {
  for (const place of EXACT_PLACES) if (findText(value, place, 0, isAny)) return true
  return false
}

const isAny = (): true => true

/** Whether a stored text on a path, from the given step on, is wanted. Stops at the first one. */
function findText(
  value: unknown,
  place: readonly string[],
  from: number,
  isWanted: (text: string) => boolean,
): boolean {
  if (typeof value !== 'object' || value === null) return false
  const step = place[from]
  if (step === undefined) {
    const text = (value as WithText)[TEXT]
    return text !== undefined && isWanted(text)
  }
  if (step !== '*') return findText((value as JsonObject)[step], place, from + 1, isWanted)
  if (!Array.isArray(value)) return false
  for (const item of value) if (findText(item, place, from + 1, isWanted)) return true
  return false
}

function keepText(value: object, text: string): void {
  if (isExact(text)) Reflect.deleteProperty(value, TEXT)
  else Object.defineProperty(value, TEXT, { value: text, configurable: true })
}

/**
 * Follows the paths of a tree through the text and the value at once, and stores the text of each object at their ends.
 * Returns the end of the value in the text, so that each character is read once, however deep it is. As in the parser,
 * the last of duplicate names wins.
 */
function keepTexts(text: string, at: number, value: unknown, tree: Tree | undefined): number {
  if (tree === undefined || typeof value !== 'object' || value === null) return endOfValue(text, at)
  if (tree.isEnd) {
    const end = endOfValue(text, at)
    if (isObject(value)) keepText(value, text.slice(at, end))
    return end
  }
  if (Array.isArray(value))
    return text[at] === '[' ? keepInItems(text, at, value, tree) : endOfValue(text, at)
  return text[at] === '{' ? keepInMembers(text, at, value as JsonObject, tree) : endOfValue(text, at)
}

function keepInItems(text: string, at: number, items: readonly unknown[], { next }: Tree): number {
  const rest = next.get('*')
  let item = afterSpace(text, at + 1)
  for (let position = 0; text[item] !== ']' && item < text.length; position++) {
    item = nextMember(text, keepTexts(text, item, items[position], rest))
  }
  return item + 1
}

function keepInMembers(text: string, at: number, value: JsonObject, { next }: Tree): number {
  let name = afterSpace(text, at + 1)
  while (text[name] === '"') {
    const end = endOfString(text, name)
    const step: string = JSON.parse(text.slice(name, end))
    const from = afterSpace(text, afterSpace(text, end) + 1)
    name = nextMember(text, keepTexts(text, from, value[step], next.get(step)))
  }
  return name + 1
}

/** Whether every number outside of strings is written as JavaScript writes it. */
function isExact(text: string): boolean {
  for (const [from, to] of outsideOfStrings(text)) {
    for (const [number] of text.slice(from, to).matchAll(NUMBERS)) if (isInexact(number)) return false
  }
  return true
}

function isInexact(number: string): boolean {
  return String(Number(number)) !== number
}

function withQuotedDigits(text: string): string {
  let quoted = ''
  let done = 0
  for (const [from, to] of outsideOfStrings(text)) {
    const between = text.slice(from, to)
    quoted += text.slice(done, from)
    quoted += between.replace(NUMBERS, (number) => (isInexact(number) ? `"\\u0000${number}"` : number))
    done = to
  }
  return quoted + text.slice(done)
}

/** Yields the positions of the parts of a JSON text that are outside its strings. */
function* outsideOfStrings(text: string): Generator<readonly [from: number, to: number]> {
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at)
    const end = quote < 0 ? text.length : quote
    yield [at, end]
    at = quote < 0 ? end : endOfString(text, quote)
  }
}
