import { CompatError } from '../../base/errors.js'
import type { Model } from '../../contracts/catalogue.js'
import type { InputEstimate, PlanOptions } from '../../contracts/operation.js'
import type { PromptEscapes } from '../../contracts/providers.js'
import type { TokenCounter, TokenTally } from '../../contracts/token-counter.js'
import { addedWords } from '../../conversation/chat-results.js'
import { ADDED_TO_CUSTOM } from '../../conversation/custom-tools.js'
import { longestName, NAMES_IN_CHAT, renamed } from '../../conversation/tool-names.js'
import type { ChatMessage, ChatRequest } from '../../protocol/chat-request.js'
import { ADDED_PROPERTIES, exactNumbers, lacksProperties } from '../../protocol/exact-data.js'
import { countMembers } from '../../protocol/json-text.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { KNOWN_FIELDS } from '../../protocol/request-fields/known-fields.js'
import { fileName, isMedia, mediaBound, mediaText, mediaTokens } from './media.js'

type PromptCounters = Pick<PlanOptions, 'counter' | 'upperCounter' | 'neverOverdraw'>

const TOKENS_A_MESSAGE = 8
/**
 * Used under `neverOverdraw`. Some chat templates add more tokens to each message than usual, and add instructions for
 * tools.
 */
const MOST_TOKENS_A_MESSAGE = 16
/** Some templates write each argument of an earlier call between tags. */
const MOST_TOKENS_AN_ARGUMENT = 16
const MOST_TOKENS_A_REQUEST = 200
const MOST_TOKENS_WITH_TOOLS = 700
/** A template or a provider may put a line feed between two parts. */
export const MOST_TOKENS_A_PART = 2
export const MOST_TOKENS_A_DOCUMENT = 6

/** Messages of all other roles contain results of tools. */
const SPEAKERS = new Set(['system', 'developer', 'user', 'assistant'])
/** A role of up to this length is included in the tokens of its message. */
const LONGEST_ROLE_CHARS = 16
const CHARGED_FIELDS = new Set(['tools', 'functions', 'response_format'])
const CHOICES = new Set(['tool_choice', 'function_call'])

/**
 * Estimates the prompt tokens of a request from every part that a model reads.
 *
 * Under `neverOverdraw` the estimate is an upper bound, at most the model's context. Throws a 400 `invalid_request` if
 * the request has media and the catalogue has no upper bound for them.
 *
 * @param otherTokens the most tokens of parts of the client's request that the chat no longer contains, for an upper
 * bound
 */
export function estimatePrompt(
  request: ChatRequest,
  model: Model,
  counters: PromptCounters,
  otherTokens = 0,
): InputEstimate {
  if (!counters.neverOverdraw) return addRequest(request, new Estimate(model, counters)).estimate()
  const bound = (escapes?: PromptEscapes) => {
    const sums = addRequest(request, new UpperBound(model, counters, escapes))
    return sums.estimate(otherTokens)
  }
  const { atLeast, atMost, hasMedia } = bound()
  const withEscapes = new Map<PromptEscapes, number>()
  return {
    atLeast,
    hasMedia,
    // No factor applies, because no tokenizer makes more tokens than there are bytes.
    atMost(_factor, escapes) {
      if (!isEscapes(escapes)) return atMost
      const known = withEscapes.get(escapes) ?? bound(escapes).atMost
      withEscapes.set(escapes, known)
      return known
    },
  }
}

/**
 * Returns an estimate under `neverOverdraw` that no longer refers to the request. It cannot be asked about further
 * routes.
 */
export function withoutRequest({ atLeast, atMost, hasMedia }: InputEstimate): InputEstimate {
  const most = atMost()
  return { atLeast, hasMedia, atMost: () => most }
}

function addRequest<All extends Sums>(request: ChatRequest, sums: All): All {
  const { messages } = request
  for (let position = 0; position < messages.length; position++)
    addMessage(messages[position]!, position, sums)
  for (const words of addedWords(messages)) {
    sums.message()
    sums.text(words, false)
  }
  for (const field of Object.keys(request)) {
    const value = request[field]
    if (value === undefined || value === null || field === 'model' || field === 'messages') continue
    const isCharged = CHARGED_FIELDS.has(field)
    // A field that needs the host's permission may also become part of the prompt.
    if (!isCharged && !CHOICES.has(field) && KNOWN_FIELDS.has(field)) continue
    const tools = toolsOf(field, value)
    if (field === 'functions' && tools !== undefined) sums.json(value, isCharged, tools)
    else addValue(value, isCharged, sums)
    if (tools !== undefined) addProperties(tools, sums)
    if (field === 'response_format') addClosings(value, sums)
    if (isCharged) sums.hasTools()
    else if (!CHOICES.has(field)) sums.hasMedia()
  }
  addNames(request, sums)
  // Providers get them digit for digit, however many there are.
  for (const number of exactNumbers(request)) sums.text(number, true)
  return sums
}

/** The tools of a request, also in place of its older functions: many providers get them so. */
function toolsOf(field: string, value: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(value)) return undefined
  if (field === 'functions') return value.map((definition) => ({ type: 'function', function: definition }))
  return field === 'tools' ? value : undefined
}

/**
 * Strict providers get a type and properties in each schema of a tool, and many a function instead of a custom
 * tool.
 */
function addProperties(tools: readonly unknown[], sums: Sums): void {
  for (const tool of tools) {
    const definition = isObject(tool) && isObject(tool.function) ? tool.function : undefined
    const parameters = definition?.parameters
    const lacksType = isObject(parameters) && parameters.type === undefined
    if (definition !== undefined && parameters === undefined) sums.text(ADDED_PARAMETERS, false)
    if (lacksType || lacksProperties(parameters)) sums.text(ADDED_PROPERTIES, false)
    if (isObject(tool) && isObject(tool.custom)) sums.text(ADDED_TO_CUSTOM, false)
    if (isObject(parameters)) sums.repeated(parameters)
  }
}

/** The parameters of a function without any. */
const ADDED_PARAMETERS = `\n      "parameters": {${ADDED_PROPERTIES}\n      },`

/** Claude gets it in each object of the schema for a reply. */
const ADDED_CLOSING = ',\n        "additionalProperties": false'

function addClosings(format: unknown, sums: Sums): void {
  const objects = JSON.stringify(format).split('"properties"').length - 1
  if (objects > 0) sums.text(ADDED_CLOSING.repeat(objects), false)
}

/** Providers may get other names of tools. */
function addNames(request: ChatRequest, sums: Sums): void {
  renamed(request, NAMES_IN_CHAT, (name) => {
    const longest = longestName(name)
    if (longest !== undefined) sums.text(longest, false)
    return name
  })
}

/** Adds up the tokens of a prompt. */
interface Sums {
  message(): void
  /** @param isCharged whether the text also counts in an estimate that is charged */
  text(text: string, isCharged: boolean): void
  /** @param largest the form in which a provider may get the value */
  json(value: unknown, isCharged: boolean, largest?: unknown): void
  /** Some templates list the type and the properties of a schema, and write all its other members twice. */
  repeated(schema: JsonObject): void
  arguments(count: number): void
  /** @param whole the result of a tool, or a part of it, which some chat templates write as JSON */
  result(whole: unknown, text: string): void
  part(type: unknown): void
  media(part: JsonObject, place: () => string): void
  hasTools(): void
  /** Notes that the prompt has audio or images, or something that may contain them. */
  hasMedia(): void
}

function addMessage(message: ChatMessage, position: number, sums: Sums): void {
  sums.message()
  const isResult = !SPEAKERS.has(message.role)
  for (const field of Object.keys(message)) {
    const value = message[field]
    if (value === undefined || value === null) continue
    if (field === 'audio') sums.hasMedia()
    if (field === 'tool_calls' && Array.isArray(value)) for (const call of value) addArguments(call, sums)
    if (field === 'function_call') addArguments({ function: value }, sums)
    if (field === 'role') {
      if (message.role.length > LONGEST_ROLE_CHARS) sums.text(message.role, false)
    } else if (field === 'content' && Array.isArray(value)) {
      for (const [at, part] of value.entries()) {
        addPart(part, `messages.${position}.content.${at}`, isResult, sums)
        // Some providers get each part of a reply as a message of its own.
        if (at > 0 && message.role === 'assistant') sums.message()
      }
    } else if (field === 'images' && Array.isArray(value)) {
      for (const [at, image] of value.entries()) {
        // Counted as an image, whatever type the client gives it.
        addMedia({ ...(image as JsonObject), type: 'image_url' }, `messages.${position}.images.${at}`, sums)
      }
    } else if (field === 'reasoning_content') {
      // The router sends reasoning under two names, and clients return both.
      if (value !== message.reasoning) addValue(value, true, sums)
    } else if (field === 'content' && isResult && typeof value === 'string') sums.result(value, value)
    else if (field !== 'cache_control' && field !== 'is_error') addValue(value, true, sums)
  }
}

function addArguments(call: unknown, sums: Sums): void {
  const given = isObject(call) && isObject(call.function) ? call.function.arguments : undefined
  if (typeof given !== 'string') return
  // Text in text is read, too. Each name ends in a quotation mark before its colon.
  sums.arguments(given.trimStart().startsWith('{') ? countMembers(given) : given.split('":').length - 1)
}

function addValue(value: unknown, isCharged: boolean, sums: Sums): void {
  if (typeof value === 'string') sums.text(value, isCharged)
  else sums.json(value, isCharged)
}

function addPart(part: unknown, place: string, isResult: boolean, sums: Sums): void {
  if (!isObject(part)) return
  if (isMedia(part)) {
    addMedia(part, place, sums)
    return
  }
  sums.part(part.type)
  const { cache_control: _, text, ...others } = part
  if (typeof text === 'string' && isResult) sums.result({ type: part.type, text }, text)
  else if (typeof text === 'string') sums.text(text, true)
  else if (typeof part.refusal === 'string') sums.text(part.refusal, true)
  else addValue(others, false, sums)
}

function addMedia(part: JsonObject, place: string, sums: Sums): void {
  sums.part(part.type)
  sums.hasMedia()
  sums.media(part, () => place)
}

class Estimate implements Sums {
  private readonly charged: TokenTally
  private readonly perhaps: TokenTally
  private rest = 0
  private anyMedia = false

  constructor(
    private readonly model: Model,
    { counter }: PromptCounters,
  ) {
    this.charged = counter.tally()
    this.perhaps = counter.tally()
  }

  message(): void {
    this.rest += TOKENS_A_MESSAGE
  }

  text(text: string, isCharged: boolean): void {
    const tally = isCharged ? this.charged : this.perhaps
    tally.add(text)
  }

  json(value: unknown, isCharged: boolean, largest: unknown = value): void {
    const json = JSON.stringify(value)
    this.text(json, isCharged)
    // About what the larger form has more.
    if (largest !== value) this.text(JSON.stringify(largest).slice(json.length), false)
  }

  result(_whole: unknown, text: string): void {
    this.text(text, true)
  }

  repeated(): void {}

  arguments(): void {}

  part(): void {}

  media(part: JsonObject): void {
    this.text(mediaText(part), false)
    if (this.perhaps.addMedia !== undefined) this.perhaps.addMedia(part)
    else this.rest += mediaTokens(part, this.model)
  }

  hasTools(): void {}

  hasMedia(): void {
    this.anyMedia = true
  }

  /** Calls the counters. If a counter fails, it must fail before anything is held. */
  estimate(): InputEstimate {
    const text = this.charged.atMost() + this.perhaps.atMost()
    const { anyMedia, rest } = this
    return {
      atLeast: this.charged.atLeast(),
      atMost: (factor = 1) => Math.ceil(text * factor) + rest,
      hasMedia: anyMedia,
    }
  }
}

/** The members of a schema that no template writes twice. */
const LISTED_ONCE = new Set(['type', 'properties'])

class UpperBound implements Sums {
  private readonly charged: TokenTally
  private readonly counter: TokenCounter
  private readonly upper: TokenTally
  private rest = 0
  private anyTools = false
  private anyMedia = false

  constructor(
    private readonly model: Model,
    { counter, upperCounter }: PromptCounters,
    private readonly escapes: PromptEscapes | undefined,
  ) {
    this.charged = counter.tally()
    this.counter = upperCounter
    this.upper = upperCounter.tally()
  }

  message(): void {
    this.rest += MOST_TOKENS_A_MESSAGE
  }

  text(text: string, isCharged: boolean): void {
    if (isCharged) this.charged.add(text)
    this.upper.add(text)
  }

  json(value: unknown, isCharged: boolean, largest: unknown = value): void {
    if (isCharged) this.charged.add(JSON.stringify(value))
    this.addJson(writtenOut(largest), true)
  }

  result(whole: unknown, text: string): void {
    this.charged.add(text)
    const isText = typeof whole === 'string'
    this.addJson(isText ? JSON.stringify(whole) : writtenOut(whole), !isText)
  }

  repeated(schema: JsonObject): void {
    // A rest pattern is slow for an object of many members.
    const others: JsonObject = Object.create(null)
    for (const name of Object.keys(schema)) if (!LISTED_ONCE.has(name)) others[name] = schema[name]
    if (Object.keys(others).length > 0) this.addJson(writtenOut(others), true)
  }

  arguments(count: number): void {
    this.rest += count * MOST_TOKENS_AN_ARGUMENT
  }

  /** A template may write the JSON of one part with escapes and that of another without. */
  private addJson(json: string, isSpaced: boolean): void {
    const text = longestForm(json, isSpaced)
    if (this.escapes === undefined) this.upper.add(text)
    else {
      this.rest += Math.max(this.tokensOf(text), this.tokensOf(escapedForm(text, this.escapes)))
    }
  }

  part(type: unknown): void {
    this.rest += type === 'file' ? MOST_TOKENS_A_DOCUMENT : MOST_TOKENS_A_PART
  }

  media(part: JsonObject, place: () => string): void {
    if (this.upper.addMedia !== undefined) {
      this.upper.add(mediaText(part))
      this.upper.addMedia(part)
      return
    }
    const { text, tokens } = mediaBound(part, this.model)
    if (tokens === undefined) throw unbounded(place(), this.model)
    this.upper.add(fileName(part))
    this.rest += Math.max(tokens, this.tokensOf(text))
  }

  private tokensOf(text: string): number {
    const tally = this.counter.tally()
    tally.add(text)
    return tally.atMost()
  }

  hasTools(): void {
    this.anyTools = true
  }

  hasMedia(): void {
    this.anyMedia = true
  }

  /** Calls the counters. If a counter fails, it must fail before anything is held. */
  estimate(otherTokens: number) {
    const { contextLength = Infinity, promptOverhead } = this.model
    const overhead = promptOverhead ?? MOST_TOKENS_A_REQUEST + (this.anyTools ? MOST_TOKENS_WITH_TOOLS : 0)
    const tokens = this.upper.atMost() + this.rest + overhead + otherTokens
    return {
      atLeast: this.charged.atLeast(),
      atMost: Math.min(tokens, contextLength),
      hasMedia: this.anyMedia,
    }
  }
}

function unbounded(param: string, { id }: Model): CompatError {
  return new CompatError(
    'invalid_request',
    `${param} is not accepted by the model '${id}', because its cost has no upper bound. The host of this service ` +
      'can set mediaTokens or contextLength of the model.',
    { param },
  )
}

/** Returns JSON in as many lines as a chat template may write tools and the arguments of calls. */
function writtenOut(value: unknown): string {
  return JSON.stringify(value, null, 1)
}

/** All escapes have this length. */
const SOME_ESCAPE = '\\u0000'
/** A host's own registry may return anything here. */
function isEscapes(escapes: unknown): escapes is PromptEscapes {
  return escapes === 'ascii' || escapes === 'html'
}

const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const SPACE = 0x20
const LONG_ESCAPE = Buffer.from(SOME_ESCAPE)

/**
 * Returns JSON in the longest form that a provider or a chat template may write. `JSON.stringify` shortens some control
 * characters that others write in full, and others put a space after each comma and colon. In a list of digits, the
 * spaces can have more tokens than the list has bytes. Replacements in the text would take several times as long.
 */
function longestForm(json: string, isSpaced: boolean): string {
  const given = Buffer.from(json)
  const isSeparator = (byte: number) => isSpaced && (byte === COMMA || byte === COLON)
  let added = 0
  for (let at = 0; at < given.length; at++) {
    if (given[at] === BACKSLASH) added += isShortened(given[++at]) ? LONG_ESCAPE.length - 2 : 0
    else if (isSeparator(given[at]!)) added++
  }
  if (added === 0) return json
  const longest = Buffer.allocUnsafe(given.length + added)
  let end = 0
  for (let at = 0; at < given.length; at++) {
    const byte = given[at]!
    if (byte !== BACKSLASH) {
      longest[end++] = byte
      if (isSeparator(byte)) longest[end++] = SPACE
    } else if (isShortened(given[++at])) end += LONG_ESCAPE.copy(longest, end)
    else {
      longest[end++] = byte
      longest[end++] = given[at]!
    }
  }
  return longest.toString()
}

/** The characters that are escaped, in UTF-16 units. */
const ESCAPED: Readonly<Record<PromptEscapes, RegExp>> = {
  ascii: /[\u0080-\uffff]/,
  html: /[<>&'\u2028\u2029]/,
}

/** Returns JSON with an escape for each UTF-16 unit that a chat template escapes. Replacements would take too long here, too. */
function escapedForm(json: string, escapes: PromptEscapes): string {
  if (!ESCAPED[escapes].test(json)) return json
  const given = Buffer.from(json)
  const lengthAt = ESCAPED_LENGTH[escapes]
  let escapeCount = 0
  for (let at = 0; at < given.length; ) {
    const length = lengthAt(given, at)
    escapeCount += unitsOf(length)
    at += length || 1
  }
  const escaped = Buffer.allocUnsafe(given.length + escapeCount * LONG_ESCAPE.length)
  let end = 0
  for (let at = 0; at < given.length; ) {
    const length = lengthAt(given, at)
    if (length === 0) escaped[end++] = given[at++]!
    else {
      for (let unit = unitsOf(length); unit > 0; unit--) for (const byte of LONG_ESCAPE) escaped[end++] = byte
      at += length
    }
  }
  return escaped.toString('utf8', 0, end)
}

/** Characters of four bytes in UTF-8 are two units of UTF-16. */
const unitsOf = (length: number): number => (length === 4 ? 2 : length === 0 ? 0 : 1)

/** Returns the bytes of the character at a place if it is escaped, otherwise 0. */
type EscapedLength = (bytes: Uint8Array, at: number) => number

const HTML = new Set(Buffer.from("<>&'"))

const ESCAPED_LENGTH: Readonly<Record<PromptEscapes, EscapedLength>> = {
  ascii: (bytes, at) => {
    const byte = bytes[at]!
    if (byte < 0x80) return 0
    return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
  },
  html: (bytes, at) => {
    const byte = bytes[at]!
    // U+2028 and U+2029 are e2 80 a8 and e2 80 a9.
    if (byte === 0xe2) return bytes[at + 1] === 0x80 && (bytes[at + 2]! | 1) === 0xa9 ? 3 : 0
    return HTML.has(byte) ? 1 : 0
  },
}

const [BACK_SPACE, FORM_FEED] = Buffer.from('bf')
const isShortened = (escaped: number | undefined) => escaped === BACK_SPACE || escaped === FORM_FEED

/** Counts the tokens of a predicted output. Rejected tokens are billed as output. */
export function predictedTokens({ prediction }: ChatRequest, counters: PromptCounters): number {
  const content = isObject(prediction) ? prediction.content : undefined
  if (content === undefined || content === null) return 0
  const tally = (counters.neverOverdraw ? counters.upperCounter : counters.counter).tally()
  tally.add(typeof content === 'string' ? content : JSON.stringify(content))
  return tally.atMost()
}
