import type { JsonObject } from '../recordings/recording.js'
import type { CountReport } from './counts.js'
import { valid } from './counts.js'
import { meaningOf, saysFailure, wordIn } from './finish-words.js'
import type { Hearing, Said } from './hearing.js'
import { isObject, saysNothing, scalar, textsIn, textWithin } from './shapes.js'
import { type Item, parsed } from './sse.js'

const ALIVE = /^\W*(?:ping|pong|heart[-_ ]?beat|keep[-_ ]?alive)\W*$/i

/** Reads a stream in OpenAI's format. */
export function hearStream(hearing: Hearing, items: readonly Item[], countsThoughts: boolean): void {
  const state = { hasReasoned: false }
  for (const item of items) {
    if (hearing.isOver) return
    if (item.kind !== 'data') hearing.fail(item.kind)
    else if (item.data.startsWith('[DONE]')) hearing.done()
    else if (item.type === 'error') hearing.fail('error')
    else if (item.data.trim() !== '' && !item.data.startsWith(':')) {
      const objects = objectsIn(item)
      if (objects === undefined) hearing.fail('invalid')
      else for (const event of objects) if (!hearing.isOver) hearEvent(hearing, event, state, countsThoughts)
    }
  }
}

/** Returns the objects in an event: none if it says nothing. Returns undefined if it is no JSON. */
export function objectsIn({ data, type }: Extract<Item, { kind: 'data' }>): JsonObject[] | undefined {
  const value = parsed(data)
  if (value === undefined) return ALIVE.test(data) || ALIVE.test(type ?? '') ? [] : undefined
  return (Array.isArray(value) ? value : [value]).filter(isObject)
}

/** Whether the value of an `error` says something. */
function isError(error: unknown): boolean {
  if (error === undefined || error === null) return false
  if (typeof error === 'object') return Object.keys(error).length > 0
  return error === true || (typeof error === 'string' && error !== '')
}

function failsInChoice(choice: unknown): boolean {
  if (!isObject(choice)) return false
  return [choice, choice.delta, choice.message].some((place) => isObject(place) && isError(place.error))
}

/** Whether an event without choices reports a failure in one of the shapes that have no `error`. */
function isBareFailure(event: JsonObject): boolean {
  if (Array.isArray(event.choices)) return false
  const { code, detail, message, object, status, type } = event
  if (
    [object, status, type].some(
      (word) => typeof word === 'string' && /^(?:error|failed|failure)$/i.test(word),
    )
  )
    return true
  if ((typeof detail === 'string' && detail !== '') || (Array.isArray(detail) && detail.length > 0))
    return true
  return (
    typeof message === 'string' && message !== '' && (typeof code === 'number' || typeof code === 'string')
  )
}

function failsAtTop(reply: JsonObject): boolean {
  const { choices } = reply
  const error = reply.error ?? (isObject(reply.x_groq) ? reply.x_groq.error : undefined)
  const isPresent = error !== undefined && error !== null
  if (isPresent && (!Array.isArray(choices) || isError(error))) return true
  return isBareFailure(reply)
}

function hearEvent(
  hearing: Hearing,
  event: JsonObject,
  state: { hasReasoned: boolean },
  countsThoughts: boolean,
): void {
  const { choices } = event
  const report = readUsage(usageIn(event), countsThoughts)
  if (failsAtTop(event) || (Array.isArray(choices) && choices.some(failsInChoice))) {
    hearing.count(report, true)
    hearing.fail('error')
    return
  }
  if (!saysNothing(choices) && !Array.isArray(choices)) {
    hearing.count(report)
    hearing.fail('invalid')
    return
  }
  for (const [position, choice] of (Array.isArray(choices) ? choices : []).entries()) {
    if (!isObject(choice)) {
      if (!saysNothing(choice)) hearing.lose(textsIn(choice))
      continue
    }
    if (saysFailure(choice)) {
      // Other choices in one event with a failure may be lost with it.
      if (position > 0) hearing.doubt('sent')
      hearing.count(report, true)
      hearing.fail('error')
      return
    }
    const lane = Number.isInteger(choice.index) ? (choice.index as number) : position
    hearing.say(saidIn(choice, state), lane)
    hearing.end(choice)
  }
  hearing.count(report)
}

/** Reads a reply in one body. */
export function hearBody(hearing: Hearing, body: unknown, countsThoughts: boolean): void {
  if (!isObject(body)) {
    hearing.fail('invalid')
    return
  }
  const { choices } = body
  if (failsAtTop(body) || (Array.isArray(choices) && choices.some(failsInChoice))) {
    hearing.fail('error')
    return
  }
  if (!Array.isArray(choices)) {
    hearing.fail('invalid')
    return
  }
  const objects = choices.filter(isObject)
  if (objects.some(saysFailure)) {
    hearing.fail('error')
    return
  }
  const state = { hasReasoned: false }
  const heard: Said[] = []
  const texts = new Set<string | undefined>()
  for (const choice of objects) {
    const message =
      choice.message ??
      choice.delta ??
      (typeof choice.text === 'string' ? { content: choice.text } : undefined)
    if (message === undefined && objects.length === 1 && !mayLackMessage(choice)) {
      hearing.fail('invalid')
      return
    }
    // A choice that says the same as an earlier one is that one again.
    const text = JSON.stringify(message)
    if (texts.has(text)) continue
    texts.add(text)
    const said = saidIn({ ...choice, message: message ?? {}, delta: null }, state)
    // Some providers send one text with each of several calls.
    const isPlain = !isObject(message) || !Array.isArray(message.content)
    const fresh = (name: 'text' | 'reasoning' | 'refusal'): string =>
      isPlain && heard.some((other) => other[name] === said[name]) ? '' : (said[name] ?? '')
    hearing.say({ ...said, text: fresh('text'), reasoning: fresh('reasoning'), refusal: fresh('refusal') })
    heard.push(said)
  }
  const ends = [...objects].sort((one, other) => weightOfEnd(other) - weightOfEnd(one))
  if (ends[0] !== undefined) hearing.end(ends[0])
  for (const choice of choices) if (!isObject(choice) && !saysNothing(choice)) hearing.lose(textsIn(choice))
  hearing.count(readUsage(usageIn(body), countsThoughts))
  hearing.done()
}

/** Of several ends, a plain stop says least. */
function weightOfEnd(choice: JsonObject): number {
  const word = wordIn(choice)?.word
  if (word === undefined) return 0
  const meaning = meaningOf(word)
  return meaning === 'dropped' ? 3 : meaning === 'stop' || meaning === 'unknown' ? 1 : 2
}

/** Gemini omits the message of a reply that it filtered. */
function mayLackMessage({ finish_reason: word }: JsonObject): boolean {
  return typeof word === 'string' && /filter|safety|recitation|refusal|malformed|unexpected/i.test(word)
}

/** Reads a delta or a message. */
function saidIn(choice: JsonObject, state: { hasReasoned: boolean }): Said {
  const given =
    choice.delta ?? choice.message ?? (typeof choice.text === 'string' ? { content: choice.text } : {})
  if (!isObject(given)) return saysNothing(given) ? {} : { lost: textsIn(given) }
  const content = contentIn(given.content)
  const direct = [given.reasoning, given.reasoning_content].map((value) => textWithin(value))
  const others = [given.thinking, given.reasoning_text].map((value) =>
    typeof value === 'string' || typeof value === 'object' ? textWithin(value) : '',
  )
  if ([given.reasoning, given.reasoning_content].some((value) => typeof value === 'string' && value !== '')) {
    state.hasReasoned = true
  }
  // The same reasoning stands under several names.
  let reasoning = direct.find((text) => text !== '') ?? ''
  const parts = content.reasoning ?? ''
  if (parts !== '') reasoning = typeof given.reasoning === 'string' ? given.reasoning + parts : parts
  if (reasoning === '') reasoning = others.find((text) => text !== '') ?? ''
  const details = listOf(given.reasoning_details)
  const detailed = details.map(textOfDetail).join('')
  const hasLooseDetails =
    detailed !== '' && (reasoning === '' ? state.hasReasoned : !reasoning.includes(detailed))
  if (reasoning === '' && !state.hasReasoned) reasoning = detailed
  const older = isObject(given.function_call) ? given.function_call : undefined
  const calls = given.tool_calls
  const lost = [content.lost].filter((text) => text !== undefined)
  return {
    text: content.text ?? '',
    reasoning,
    hasLooseDetails,
    refusal: (given.refusal === undefined ? '' : refusalIn(given.refusal)) + (content.refusal ?? ''),
    isOther:
      [given.images, given.reasoning_details].some((list) => listOf(list).length > 0) ||
      isObject(given.audio) ||
      older !== undefined ||
      content.isOther === true,
    calls: content.calls === undefined ? calls : [...(Array.isArray(calls) ? calls : []), ...content.calls],
    ...(older !== undefined && {
      older: [older.name, older.arguments].filter((value) => typeof value === 'string').join(''),
    }),
    ...(lost.length > 0 && { lost: lost.join('') }),
  }
}

/** A list, or the list of a single item. */
function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return isObject(value) && !saysNothing(value) ? [value] : []
}

function textOfDetail(detail: unknown): string {
  if (!isObject(detail)) return ''
  const found = [detail.text, detail.summary].find((value) => typeof value === 'string' && value !== '')
  return (found as string | undefined) ?? ''
}

function refusalIn(value: unknown): string {
  return textWithin(value)
}

interface Content {
  text?: string
  reasoning?: string
  refusal?: string
  isOther?: boolean
  calls?: unknown[]
  lost?: string
}

const THINKS = new Set(['thinking', 'reasoning', 'reasoning_text', 'summary_text', 'thought'])

/** Reads content: text, or parts of several kinds. */
function contentIn(content: unknown): Content {
  const own = scalar(content)
  if (own !== undefined) return { text: own }
  if (saysNothing(content)) return {}
  const isPart = isObject(content) && (content.type !== undefined || content.text !== undefined)
  if (!Array.isArray(content) && !isPart) return { lost: textsIn(content) }
  const found: Content = { text: '', reasoning: '', refusal: '' }
  for (const part of Array.isArray(content) ? content : [content]) {
    const text = scalar(part)
    if (text !== undefined) found.text += text
    else if (isObject(part)) readPart(found, part)
    else if (!saysNothing(part)) found.lost = (found.lost ?? '') + textsIn(part)
  }
  return found
}

function readPart(found: Content, part: JsonObject): void {
  const { type } = part
  if (
    THINKS.has(String(type)) ||
    ((typeof type !== 'string' || type === '') && part.thinking !== undefined)
  ) {
    found.reasoning += textWithin(part)
    return
  }
  const text = scalar(isObject(part.text) ? part.text.value : part.text)
  if (type === 'refusal' && typeof part.refusal === 'string') found.refusal += part.refusal
  else if (text !== undefined) found.text += text
  else if (Object.entries(part).some(([name, value]) => name !== 'type' && value !== null))
    found.isOther = true
}

function usageIn({ choices, usage, x_groq: groq }: JsonObject): unknown {
  const stated = usage ?? (isObject(groq) ? groq.usage : undefined)
  if (stated !== undefined && stated !== null) return stated
  const found = (Array.isArray(choices) ? choices : []).filter(isObject).flatMap((choice) => {
    const places = [
      choice.usage,
      ...[choice.delta, choice.message].map((place) => (isObject(place) ? place.usage : undefined)),
    ]
    return places.filter((place) => place !== undefined && place !== null).slice(0, 1)
  })
  return found.length === 1 ? found[0] : undefined
}

/** Reads a usage by the rules of "Names" in docs/charging.md. */
export function readUsage(given: unknown, countsThoughts: boolean): CountReport | undefined {
  const usage = Array.isArray(given) ? given.at(-1) : given
  if (!isObject(usage)) return undefined
  const named = (...names: readonly string[]): unknown =>
    names.map((name) => usage[name]).find((value) => value !== undefined && value !== null)
  const prompt = named('prompt_tokens', 'input_tokens')
  const listed = named('completion_tokens', 'output_tokens')
  if (prompt === undefined && listed === undefined) return undefined
  const total = named('total_tokens')
  const inputs = detailsIn(usage.prompt_tokens_details)
  const outputs = detailsIn(usage.completion_tokens_details)
  const cachedCounts = [inputs.cached_tokens, usage.prompt_cache_hit_tokens, usage.cached_tokens]
    .map((count) => valid(count, 1e9))
    .filter((count) => count !== undefined)
  const cached = cachedCounts.length === 0 ? undefined : Math.max(...cachedCounts)
  const reasoning = outputs.reasoning_tokens ?? usage.reasoning_tokens ?? undefined
  return completed({ prompt, listed, total, cached, reasoning }, countsThoughts)
}

/** The counts that are due for those of a provider that counts as OpenAI does. */
export function completed(
  given: { prompt: unknown; listed: unknown; total: unknown; cached: number | undefined; reasoning: unknown },
  countsThoughts: boolean,
): CountReport {
  const { cached, listed, total } = given
  let { prompt, reasoning } = given
  let completion = listed
  const counts = { total: valid(total, 1e9), reasoning: valid(reasoning, 1e9) }
  const input = valid(prompt, 1e9)
  const output = valid(listed, 1e9)
  if (cached !== undefined && cached > 0 && input !== undefined) {
    const outputs = output === undefined ? [] : [output, output + (counts.reasoning ?? 0)]
    if (outputs.some((each) => counts.total === input + cached + each)) prompt = input + cached
  }
  const whole = valid(prompt, 1e9)
  if (
    counts.total !== undefined &&
    whole !== undefined &&
    output !== undefined &&
    counts.total > whole + output
  ) {
    if (whole === 0) {
      const thoughts = counts.reasoning ?? 0
      const isOutput = thoughts <= output && output + thoughts !== counts.total
      prompt = Math.max(counts.total - output - (isOutput ? 0 : thoughts), 0)
    } else if (output === 0) completion = counts.total - whole
  }
  const made = valid(completion, 1e9)
  const rest =
    counts.total !== undefined && valid(prompt, 1e9) !== undefined
      ? counts.total - (prompt as number)
      : undefined
  if (made !== undefined) {
    const isApart =
      counts.reasoning !== undefined && (counts.reasoning > made || rest === made + counts.reasoning)
    if (isApart) completion = made + counts.reasoning!
    if (countsThoughts && rest !== undefined) completion = Math.max(completion as number, rest)
  }
  if (reasoning === null) reasoning = undefined
  return { prompt, cached, completion, reasoning, total }
}

function detailsIn(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}
