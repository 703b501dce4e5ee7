import { sdkResults, sdkStreams } from '../recordings/ai-sdk.js'
import { chatBodies, chatStreams } from '../recordings/chat-completions.js'
import { messageBodies, messageStreams } from '../recordings/messages.js'
import { DONE, type Json, type JsonObject } from '../recordings/recording.js'
import { createRandom, type Random } from '../simulation/random.js'
import { isObject } from './shapes.js'

/** All recordings but those of the Responses API, which the oracle does not read. */
export const RECORDINGS = [
  ...chatStreams,
  ...chatBodies,
  ...messageStreams,
  ...messageBodies,
  ...sdkStreams,
  ...sdkResults,
]
export type Recording = (typeof RECORDINGS)[number]

/** How a connection ends after the bytes of a reply: as announced, or in the middle. */
export type Ending = 'end' | 'hang-up'

/** What a provider sends: bytes, or what a package of the AI SDK made of them. */
export interface Mutant {
  readonly seed: string
  readonly recording: string
  readonly language: Recording['language']
  /** What was changed, in words. */
  readonly changes: readonly string[]
  readonly bytes: Buffer
  /** The sizes of the pieces in which the bytes are sent. */
  readonly pieces: readonly number[]
  readonly ending: Ending
  /** The parts of a model of the AI SDK, or its one result. There are no bytes then. */
  readonly parts?: readonly Json[]
  readonly result?: Json
}

/** One event of a stream, or bytes between the events. */
type Frame = { readonly event: Json; readonly type?: string } | { readonly raw: string }

interface Draft {
  readonly recording: Recording
  frames: Frame[]
  body: Json | undefined
  ending: Ending
  newline: '\n' | '\r\n' | '\r'
  /** The line break after the blank line is missing after these frames. */
  readonly joined: Set<number>
  readonly split: Set<number>
  /** The share of the bytes that is sent, if they are cut. */
  cutAt: number | undefined
  lacksLastBreak: boolean
}

type Place = readonly (string | number)[]

const MOST_PIECES = 5

/** Makes the reply that a seed stands for. */
export function mutant(seed: string): Mutant {
  const random = createRandom(seed)
  const recording = random.pick(RECORDINGS)
  const draft = draftOf(recording)
  const changes: string[] = []
  const times = random.weighted([
    [3, 0],
    [57, 1],
    [27, 2],
    [13, 3],
  ] as const)
  for (let time = 0; time < times; time++) changes.push(change(draft, random))
  const sent = sentOf(draft)
  return { ...sent, seed, changes, pieces: piecesOf(sent.bytes.length, random) }
}

/** A recording without any change, in one piece. */
export function unchanged(recording: Recording): Mutant {
  const sent = sentOf(draftOf(recording))
  return { ...sent, seed: '', changes: [], pieces: [sent.bytes.length] }
}

function sentOf(draft: Draft): Omit<Mutant, 'seed' | 'changes' | 'pieces'> {
  const { body, ending, frames, recording } = draft
  const { language, name } = recording
  const said = { recording: name, language, ending }
  if (!isSdk(draft)) return { ...said, bytes: written(draft) }
  const bytes = Buffer.alloc(0)
  return body === undefined
    ? { ...said, bytes, parts: frames.flatMap(eventOf) }
    : { ...said, bytes, result: body }
}

function eventOf(frame: Frame): Json[] {
  return 'event' in frame ? [frame.event] : []
}

function draftOf(recording: Recording): Draft {
  const draft: Draft = {
    recording,
    frames: [],
    body: undefined,
    ending: 'end',
    newline: '\n',
    joined: new Set(),
    split: new Set(),
    cutAt: undefined,
    lacksLastBreak: false,
  }
  if ('body' in recording) return { ...draft, body: structuredClone(recording.body) }
  const { before, events, language, newline = '\n' } = recording
  const frames: Frame[] = events.map((event) => ({
    event: structuredClone(event),
    ...(language === 'anthropic' && { type: String(event.type) }),
  }))
  if (before !== undefined) frames.unshift({ raw: before.trimEnd() })
  if (language === 'openai' || language === 'gemini') frames.push({ raw: DONE })
  return { ...draft, frames, newline }
}

function written(draft: Draft): Buffer {
  const { body, cutAt, frames, joined, newline, split } = draft
  let text = ''
  if (body !== undefined) text = JSON.stringify(body)
  for (const [place, frame] of frames.entries()) {
    const breaks = joined.has(place) ? '\n' : '\n\n'
    text += ('raw' in frame ? frame.raw : lines(frame, split.has(place))) + breaks
  }
  if (draft.lacksLastBreak) text = text.trimEnd()
  const bytes = Buffer.from(newline === '\n' ? text : text.replaceAll('\n', newline))
  return cutAt === undefined ? bytes : bytes.subarray(0, Math.ceil(bytes.length * cutAt))
}

function lines({ event, type }: Extract<Frame, { event: Json }>, isSplit: boolean): string {
  const head = type === undefined ? '' : `event: ${type}\n`
  const json = JSON.stringify(event)
  const at = isSplit ? json.indexOf(',') + 1 : 0
  return at > 0 ? `${head}data: ${json.slice(0, at)}\ndata: ${json.slice(at)}` : `${head}data: ${json}`
}

function piecesOf(length: number, random: Random): number[] {
  const cuts = Array.from({ length: random.int(0, MOST_PIECES - 1) }, () => random.int(0, length))
  const places = [0, ...cuts.sort((one, other) => one - other), length]
  return places.slice(1).map((place, index) => place - places[index]!)
}

type Change = (draft: Draft, random: Random) => string | undefined

/** Makes one change that fits. */
function change(draft: Draft, random: Random): string {
  for (;;) {
    const kind = draft.body === undefined ? random.weighted(STREAM_CHANGES) : random.weighted(BODY_CHANGES)
    const made = kind(draft, random)
    if (made !== undefined) return made
  }
}

const isSdk = ({ recording }: Draft): boolean => recording.language.startsWith('aisdk')

const dropFrame: Change = (draft, random) => {
  const at = random.int(0, draft.frames.length - 1)
  if (draft.frames.length < 2) return undefined
  draft.frames.splice(at, 1)
  return `frame ${at} dropped`
}

const doubleFrame: Change = (draft, random) => {
  const at = random.int(0, draft.frames.length - 1)
  draft.frames.splice(at, 0, structuredClone(draft.frames[at]!))
  return `frame ${at} doubled`
}

const moveFrame: Change = (draft, random) => {
  const from = random.int(0, draft.frames.length - 1)
  const isNear = random.chance(0.6)
  const to = isNear ? Math.min(draft.frames.length - 1, from + 1) : random.int(0, draft.frames.length - 1)
  if (from === to) return undefined
  const [moved] = draft.frames.splice(from, 1)
  draft.frames.splice(to, 0, moved!)
  return `frame ${from} moved to ${to}`
}

const cutFrames: Change = (draft, random) => {
  if (draft.frames.length < 2) return undefined
  const at = random.int(1, draft.frames.length - 1)
  const keepsDone = !isSdk(draft) && draft.recording.language !== 'anthropic' && random.chance(0.25)
  draft.frames = [...draft.frames.slice(0, at), ...(keepsDone ? [{ raw: DONE }] : [])]
  if (random.chance(0.3)) draft.ending = 'hang-up'
  return `cut before frame ${at}${keepsDone ? ', but done' : ''}, ${draft.ending}`
}

/** Events that some server sends although they say nothing, and such as report a failure. */
const ODD_FRAMES: readonly string[] = [
  'data: null',
  'data: "x"',
  'data: 12',
  'data: []',
  'data: {}',
  'data: ping',
  ': keep-alive',
  'event: ping\ndata: {}',
  'data:',
  'data: {"choices":[]}',
  'data: {"choices":null}',
  'data: {"choices":[null]}',
  'x-note: 5',
  'id: 7\nretry: 10',
]
const FAILURES: readonly string[] = [
  'data: {"error":{"message":"overloaded","code":503}}',
  'data: {"error":"boom"}',
  'data: {"detail":"Overloaded"}',
  'data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
  'data: {"object":"error","message":"Engine died","code":500}',
  'event: error\ndata: {"message":"slot unavailable"}',
  '{"error":{"message":"overloaded"}}',
  'error: {"message":"slot unavailable"}',
  '<html><body>502 Bad Gateway</body></html>',
  'upstream connect error or disconnect/reset before headers',
  'data: {"choices":[',
  'data: not json at all',
]
const SDK_ODD: readonly Json[] = [
  { type: 'raw', rawValue: {} },
  { type: 'of-tomorrow' },
  { type: 'text-delta', id: '0', delta: '' },
  { type: 'response-metadata', id: 'r-9' },
]
const SDK_FAILURES: readonly Json[] = [
  { type: 'error', error: 'overloaded' },
  { type: 'error', error: { message: 'overloaded' } },
  { type: 'error', error: { statusCode: 529, message: 'overloaded' } },
]

const insertFrame =
  (raws: readonly string[], parts: readonly Json[], what: string): Change =>
  (draft, random) => {
    const at = random.int(0, draft.frames.length)
    const frame: Frame = isSdk(draft) ? { event: random.pick(parts) } : { raw: random.pick(raws) }
    draft.frames.splice(at, 0, frame)
    return `${what} at ${at}: ${'raw' in frame ? frame.raw : JSON.stringify(frame.event)}`
  }

const dropDone: Change = (draft) => {
  const at = draft.frames.findIndex((frame) => 'raw' in frame && frame.raw === DONE)
  if (at < 0) return undefined
  draft.frames.splice(at, 1)
  return 'done dropped'
}

const cutBytes: Change = (draft, random) => {
  if (isSdk(draft)) return undefined
  draft.cutAt = random.next()
  if (random.chance(0.5)) draft.ending = 'hang-up'
  return `cut at ${draft.cutAt.toFixed(4)} of the bytes, ${draft.ending}`
}

const hangUp: Change = (draft) => {
  if (draft.ending === 'hang-up') return undefined
  draft.ending = 'hang-up'
  return 'hung up at the end'
}

const reframe: Change = (draft, random) => {
  if (isSdk(draft)) return undefined
  const places = draft.frames.flatMap((frame, place) => ('event' in frame ? [place] : []))
  if (places.length === 0) return undefined
  const kind = random.int(0, 4)
  if (kind === 0) {
    for (const place of places) draft.joined.add(place)
    return 'events joined by single newlines'
  }
  if (kind === 1) {
    const place = random.pick(places)
    draft.joined.add(place)
    return `frame ${place} joined to the next`
  }
  if (kind === 2) {
    draft.newline = random.pick(['\r\n', '\r', '\n'] as const)
    return `line breaks are ${JSON.stringify(draft.newline)}`
  }
  if (kind === 3) {
    draft.split.add(random.pick(places))
    return 'an event on two lines'
  }
  draft.lacksLastBreak = true
  return 'no blank line at the end'
}

/** Finish reasons of all kinds. The oracle has a table of its own for what they mean. */
const WORDS: readonly Json[] = [
  ...['stop', 'STOP', 'FINISH_REASON_STOP', 'end_turn', 'COMPLETE', 'eos_token'],
  ...['length', 'MAX_TOKENS', 'FinishReason.MAX_TOKENS', 'max_tokens', 'model_length'],
  ...['tool_calls', 'function_call', 'tool_use'],
  ...['content_filter', 'SAFETY', 'RECITATION', 'refusal', 'content_filter: PROHIBITED_CONTENT'],
  ...['error', 'network_error', 'ERROR', 'abort', 'insufficient_system_resource', 'timeout'],
  ...['MALFORMED_FUNCTION_CALL', 'unexpected tool call'],
  ...['', 'null', 'in_progress', 'FINISH_REASON_UNSPECIFIED'],
  ...['OTHER', 'a word of tomorrow'],
  ...[null, 5, {}],
]

const finishWord: Change = (draft, random) => {
  const holders = holdersOf(draft, (name) => FINISH_NAMES.has(name))
  if (holders.length === 0) return undefined
  const { at, holder, name } = random.pick(holders)
  const word = random.pick(WORDS)
  holder[name] = structuredClone(word)
  return `${at}.${name} = ${JSON.stringify(word)}`
}
const FINISH_NAMES = new Set([
  'finish_reason',
  'native_finish_reason',
  'stop_reason',
  'finishReason',
  'unified',
])

const COUNTS: readonly Json[] = [0, 1, 7, 500, -3, 2.5, '12', 1e12, null, true, [4], {}]

const countChange: Change = (draft, random) => {
  const holders = holdersOf(
    draft,
    (name, holder) => COUNT_NAME.test(name) && typeof holder[name] === 'number',
  )
  if (holders.length === 0) return undefined
  const { at, holder, name } = random.pick(holders)
  const kind = random.int(0, 2)
  if (kind === 0) {
    delete holder[name]
    return `${at}.${name} dropped`
  }
  const other = OTHER_NAMES[name]
  if (kind === 1 && other !== undefined) {
    holder[other] = holder[name]!
    delete holder[name]
    return `${at}.${name} renamed to ${other}`
  }
  holder[name] = structuredClone(random.pick(COUNTS))
  return `${at}.${name} = ${JSON.stringify(holder[name])}`
}
const COUNT_NAME = /tokens$|_tokens_|^(?:total|noCache|cacheRead|text|reasoning)$|Tokens$/
const OTHER_NAMES: Readonly<Record<string, string>> = {
  prompt_tokens: 'input_tokens',
  completion_tokens: 'output_tokens',
}

const usageChange: Change = (draft, random) => {
  const holders = holdersOf(draft, (name, holder) => name === 'usage' && isObject(holder[name]))
  if (holders.length === 0) return undefined
  const { at, holder } = random.pick(holders)
  const { usage } = holder
  const kind = random.int(0, 3)
  if (kind === 0) {
    delete holder.usage
    return `${at}.usage dropped`
  }
  if (kind === 1) {
    holder.usage = null
    return `${at}.usage = null`
  }
  if (kind === 2) {
    holder.usage = [usage!]
    return `${at}.usage in a list`
  }
  if (isSdk(draft) || draft.recording.language === 'anthropic') return undefined
  delete holder.usage
  holder.x_groq = { usage: usage! }
  return `${at}.usage in x_groq`
}

const errorInside: Change = (draft, random) => {
  if (isSdk(draft) || draft.recording.language === 'anthropic') return undefined
  const holders = holdersOf(draft, (name) => name === 'choices' || name === 'delta' || name === 'content')
  if (holders.length === 0) return undefined
  const { at, holder } = random.pick(holders)
  holder.error = structuredClone(
    random.pick<Json>([{ message: 'idle timeout', code: 502 }, 'idle timeout', {}, null, '', []]),
  )
  return `${at}.error = ${JSON.stringify(holder.error)}`
}

const INDEXES: readonly Json[] = [0, 1, 2, 7, -1, '0', '1', 'first', null, 1.5]
const NUMBERS_OF = new Set(['index'])

const indexChange: Change = (draft, random) => {
  const holders = holdersOf(draft, (name) => NUMBERS_OF.has(name))
  if (holders.length === 0) return undefined
  const { at, holder, name } = random.pick(holders)
  if (random.chance(0.3)) {
    delete holder[name]
    return `${at}.${name} dropped`
  }
  holder[name] = structuredClone(random.pick(INDEXES))
  return `${at}.${name} = ${JSON.stringify(holder[name])}`
}

const RENAMED: readonly (readonly [name: string, other: string])[] = [
  ['delta', 'message'],
  ['reasoning', 'thinking'],
  ['reasoning_content', 'reasoning_text'],
  ['reasoning_content', 'reasoning'],
  ['finish_reason', 'finishReason'],
]

/** Puts a member under another name that some provider uses for it. */
const rename: Change = (draft, random) => {
  const [name, other] = random.pick(RENAMED)
  const holders = holdersOf(draft, (each) => each === name)
  if (holders.length === 0 || isSdk(draft) || draft.recording.language === 'anthropic') return undefined
  const { at, holder } = random.pick(holders)
  holder[other] = holder[name]!
  delete holder[name]
  return `${at}.${name} renamed to ${other}`
}

/** Writes a tool call as some provider does. */
const callChange: Change = (draft, random) => {
  const holders = holdersOf(draft, (name, holder) => name === 'function' && isObject(holder[name]))
  if (holders.length === 0) return undefined
  const { at, holder } = random.pick(holders)
  const details = holder.function as JsonObject
  const args = typeof details.arguments === 'string' ? details.arguments : ''
  switch (random.int(0, 5)) {
    case 0:
      Object.assign(holder, details)
      delete holder.function
      return `${at}: without its function`
    case 1:
      if (!isObject(parsed(args))) return undefined
      details.arguments = parsed(args)!
      return `${at}: arguments as an object`
    case 2:
      if (!isObject(parsed(args))) return undefined
      details.arguments = JSON.stringify(args)
      return `${at}: arguments in a string`
    case 3:
      details.arguments = `{}${args}`
      return `${at}: arguments after {}`
    case 4:
      details.arguments = `${args}${args}`
      return `${at}: arguments twice`
    default:
      delete holder.id
      return `${at}: without an id`
  }
}

/** Sends the name of a tool call in two events. */
const splitName: Change = (draft, random) => {
  const places = draft.frames.flatMap((frame, place) => {
    const calls = 'event' in frame ? callsIn(frame.event) : []
    return calls.length === 1 && isObject(calls[0]) && nameOf(calls[0]) !== undefined ? [place] : []
  })
  if (places.length === 0) return undefined
  const place = random.pick(places)
  const frame = draft.frames[place] as { event: Json }
  const second = structuredClone(frame)
  const details = (calls: Json[]): JsonObject => (calls[0] as JsonObject).function as JsonObject
  const [one, other] = [details(callsIn(frame.event)), details(callsIn(second.event))]
  const name = String(one.name)
  one.name = name.slice(0, 3)
  one.arguments = ''
  other.name = name.slice(3)
  draft.frames.splice(place + 1, 0, second)
  return `frame ${place}: its name in two pieces`
}

function callsIn(event: Json): Json[] {
  const [choice] = isObject(event) && Array.isArray(event.choices) ? event.choices : []
  const delta = isObject(choice) ? choice.delta : undefined
  return isObject(delta) && Array.isArray(delta.tool_calls) ? delta.tool_calls : []
}

function nameOf(call: JsonObject): string | undefined {
  const name = isObject(call.function) ? call.function.name : undefined
  return typeof name === 'string' && name.length > 3 ? name : undefined
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Puts the choices of two events into one. */
const mergeFrames: Change = (draft, random) => {
  const places = draft.frames.flatMap((_frame, place) => {
    const [one, other] = [draft.frames[place], draft.frames[place + 1]].map((frame) =>
      frame !== undefined && 'event' in frame && isObject(frame.event) ? frame.event.choices : undefined,
    )
    return Array.isArray(one) && Array.isArray(other) ? [place] : []
  })
  if (places.length === 0) return undefined
  const place = random.pick(places)
  const [one, other] = [draft.frames[place], draft.frames[place + 1]] as { event: JsonObject }[]
  other!.event.choices = [...(one!.event.choices as Json[]), ...(other!.event.choices as Json[])]
  draft.frames.splice(place, 1)
  return `frames ${place} and ${place + 1} merged`
}

/** Changes a member anywhere in an event: the changes that need no knowledge of what it means. */
const memberChange: Change = (draft, random) => {
  const roots = rootsOf(draft)
  if (roots.length === 0) return undefined
  const { at, root } = random.pick(roots)
  const places = placesIn(root.event).filter((place) => place.length > 0)
  if (places.length === 0) return undefined
  const weighted = places.map((place) => [weightOf(place), place] as const)
  const place = random.weighted(weighted)
  const holder = valueAt(root.event, place.slice(0, -1)) as JsonObject
  const name = place.at(-1)!
  const key = name as string
  const path = `${at}.${place.join('.')}`
  const old = holder[key]!
  switch (random.int(0, 5)) {
    case 0:
      if (Array.isArray(holder)) (holder as Json[]).splice(name as number, 1)
      else delete holder[key]
      return `${path} dropped`
    case 1:
      holder[key] = null
      return `${path} = null`
    case 2: {
      if (!Array.isArray(holder)) return undefined
      ;(holder as Json[]).splice(name as number, 0, structuredClone(old))
      return `${path} doubled`
    }
    case 3: {
      if (!isObject(holder)) return undefined
      const entries = Object.entries(holder)
      for (const [each] of entries) delete holder[each]
      for (const [each, value] of entries.toReversed()) holder[each] = value
      return `${path}: members reversed`
    }
    default: {
      const other = retyped(old, random)
      holder[key] = other
      return `${path} = ${JSON.stringify(other)}`
    }
  }
}

/** The same or something else as another type. */
function retyped(value: Json, random: Random): Json {
  const copy = structuredClone(value)
  if (typeof copy === 'string') {
    return random.pick<Json>([
      5,
      0,
      true,
      [copy],
      { type: 'text', text: copy },
      '',
      null,
      [],
      {},
      `${copy}${copy}`,
    ])
  }
  if (typeof copy === 'number')
    return random.pick<Json>([String(copy), -1, 2.5, 0, true, [copy], {}, copy + 1])
  if (Array.isArray(copy)) return random.pick<Json>([copy[0] ?? {}, [], {}, '', 'text', 5, [copy], false])
  if (isObject(copy)) return random.pick<Json>([[copy], {}, [], '', 'text', 5, null, true])
  return random.pick<Json>(['', 'null', 0, {}, [], 'text', false, 3])
}

const METADATA = new Set(
  'id object created model system_fingerprint service_tier obfuscation provider timings logprobs token_ids stop_reason'.split(
    ' ',
  ),
)

function weightOf(place: Place): number {
  if (METADATA.has(String(place[0])) || METADATA.has(String(place.at(-1)))) return 1
  return place.length > 2 ? 6 : 3
}

interface Root {
  readonly at: string
  readonly root: { event: Json }
}

function rootsOf(draft: Draft): Root[] {
  if (draft.body !== undefined) {
    // A body is changed in place, unless it is replaced as a whole, which no change does.
    return [{ at: 'body', root: { event: draft.body } }]
  }
  return draft.frames.flatMap((frame, place) =>
    'event' in frame && typeof frame.event === 'object' && frame.event !== null
      ? [{ at: `frame ${place}`, root: frame as { event: Json } }]
      : [],
  )
}

interface Holder {
  readonly at: string
  readonly holder: JsonObject
  readonly name: string
}

function holdersOf(draft: Draft, wanted: (name: string, holder: JsonObject) => boolean): Holder[] {
  return rootsOf(draft).flatMap(({ at, root }) =>
    [[] as Place, ...placesIn(root.event)].flatMap((place) => {
      const holder = valueAt(root.event, place)
      if (!isObject(holder)) return []
      const names = Object.keys(holder).filter((name) => wanted(name, holder))
      return names.map((name) => ({ at: [at, ...place].join('.'), holder, name }))
    }),
  )
}

function placesIn(value: Json, place: Place = []): Place[] {
  const inner = Array.isArray(value)
    ? value.flatMap((item, index) => placesIn(item, [...place, index]))
    : isObject(value)
      ? Object.entries(value).flatMap(([name, member]) => placesIn(member, [...place, name]))
      : []
  return place.length === 0 ? inner : [place, ...inner]
}

function valueAt(value: Json, place: Place): Json {
  let found: Json = value
  for (const step of place) found = (found as JsonObject)[step as string]!
  return found
}

const STREAM_CHANGES: readonly (readonly [weight: number, change: Change])[] = [
  [10, dropFrame],
  [9, doubleFrame],
  [9, moveFrame],
  [6, cutFrames],
  [6, insertFrame(ODD_FRAMES, SDK_ODD, 'odd frame')],
  [5, insertFrame(FAILURES, SDK_FAILURES, 'failure')],
  [3, dropDone],
  [6, cutBytes],
  [2, hangUp],
  [5, reframe],
  [6, finishWord],
  [6, countChange],
  [3, usageChange],
  [3, errorInside],
  [4, indexChange],
  [4, rename],
  [5, callChange],
  [3, splitName],
  [3, mergeFrames],
  [24, memberChange],
]

const BODY_CHANGES: readonly (readonly [weight: number, change: Change])[] = [
  [6, cutBytes],
  [2, hangUp],
  [8, finishWord],
  [8, countChange],
  [4, usageChange],
  [4, errorInside],
  [3, indexChange],
  [4, rename],
  [8, callChange],
  [30, memberChange],
]
