import { isObject, type JsonObject } from '../protocol/json-values.js'
import { fromWire, jsonBytes, type WireBytes, wire } from '../protocol/wire-bytes.js'

/**
 * The fast path of the relay. Without it, the fastest streams take twice the CPU (docs/performance.md). An event that
 * differs from an earlier one only in the text of its `content` is not parsed. Its text is inserted between the bytes
 * that the plain path wrote for the earlier event. All other events are parsed.
 */
export class Splicer {
  private template: Template | undefined
  private lessons = 0
  /** The text of the last spliced event. */
  text = ''

  /** @returns the bytes that the plain path would send for this event. Undefined if the event must be parsed */
  splice(event: WireBytes): WireBytes | undefined {
    const template = this.template
    if (template === undefined) return undefined
    const { prefix, suffix } = template
    const end = template.obfuscated ? beforeObfuscation(event) : event.length
    const to = end - suffix.length
    if (to <= prefix.length || event.slice(to, end) !== suffix || event.slice(0, prefix.length) !== prefix) {
      return undefined
    }
    const literal = event.slice(prefix.length, to)
    if (PLAIN.test(literal)) {
      this.text = literal
      return around(template, literal)
    }
    const text = parseLiteral(literal)
    if (text === undefined) return undefined
    this.text = text
    return around(template, stringLiteral(text))
  }

  /** Learns from a parsed event and the bytes sent for it. Returns whether similar events can now be spliced. */
  learn(event: WireBytes, chunk: JsonObject, sent: WireBytes): boolean {
    if (this.lessons >= MAX_LESSONS) return false
    const content = contentAlone(chunk)
    if (content === undefined) return false
    this.lessons++
    this.template = makeTemplate(event, chunk, content, sent)
    return this.template !== undefined
  }
}

interface Template {
  readonly prefix: WireBytes
  readonly suffix: WireBytes
  readonly obfuscated: boolean
  readonly sentPrefix: WireBytes
  readonly sentSuffix: WireBytes
}

/** If a provider changes more than the text between events, further lessons are not worth their cost. */
const MAX_LESSONS = 8
/** The inside of a JSON string without escapes: printable ASCII except quotes and backslashes. */
const PLAIN = /^[ !#-[\]-~]+$/
const CONTENT_KEY = '"content"'
const CONTENT_START = /"content"\s*:\s*"/
const OBFUSCATION = ',"obfuscation":"'
const OBFUSCATION_END = /^[A-Za-z0-9]*"\}$/
const PROBE = 'probe'

function around({ sentPrefix, sentSuffix }: Template, literal: WireBytes): WireBytes {
  return wire(`${sentPrefix}${literal}${sentSuffix}`)
}

/** Returns the text of a chunk whose only content is the text of one choice. */
function contentAlone(chunk: JsonObject): string | undefined {
  const choices = chunk.choices
  if (!Array.isArray(choices) || choices.length !== 1) return undefined
  const { delta, finish_reason: finishReason } = choices[0] as JsonObject
  if (!isObject(delta) || (finishReason !== null && finishReason !== undefined)) return undefined
  for (const [field, value] of Object.entries(delta))
    if (field !== 'content' && value !== null) return undefined
  const { content } = delta
  return typeof content === 'string' && content !== '' ? content : undefined
}

function makeTemplate(
  event: WireBytes,
  chunk: JsonObject,
  content: string,
  sent: WireBytes,
): Template | undefined {
  const literal = stringLiteral(content)
  const start = CONTENT_START.exec(event)
  if (start === null || event.indexOf(CONTENT_KEY) !== event.lastIndexOf(CONTENT_KEY)) return undefined
  const from = start.index + start[0].length
  const to = from + literal.length
  if (event.slice(from, to) !== literal || event[to] !== '"') return undefined
  const prefix = event.slice(0, from)
  if (!onlyContentDiffers(wire(`${prefix}${PROBE}${event.slice(to)}`), chunk)) return undefined

  const sentStart = `"delta":{"content":"`
  const sentFrom = sent.indexOf(`${sentStart}${literal}"`)
  if (sentFrom < 0) return undefined
  const end = beforeObfuscation(event)
  return {
    prefix,
    suffix: event.slice(to, end),
    obfuscated: end < event.length,
    sentPrefix: sent.slice(0, sentFrom + sentStart.length),
    sentSuffix: sent.slice(sentFrom + sentStart.length + literal.length),
  }
}

/** Whether the text in the event really is the content: a different text must change only the content. */
function onlyContentDiffers(probe: WireBytes, chunk: JsonObject): boolean {
  const parsed = JSON.parse(fromWire(probe)) as { choices?: { delta?: JsonObject }[] }
  const delta = parsed.choices?.[0]?.delta
  if (delta?.content !== PROBE) return false
  delta.content = (chunk.choices as { delta: JsonObject }[])[0]!.delta.content
  return JSON.stringify(parsed) === JSON.stringify(chunk)
}

/** Returns the start of the random padding that some providers add as the last field of every event. */
function beforeObfuscation(event: WireBytes): number {
  const start = event.lastIndexOf(OBFUSCATION)
  if (start < 0 || !OBFUSCATION_END.test(event.slice(start + OBFUSCATION.length))) return event.length
  return start
}

function stringLiteral(text: string): WireBytes {
  return jsonBytes(text).slice(1, -1)
}

function parseLiteral(literal: WireBytes): string | undefined {
  try {
    const text = JSON.parse(`"${fromWire(literal)}"`) as string
    return text === '' || text.includes('\uFFFD') ? undefined : text
  } catch {
    return undefined
  }
}
