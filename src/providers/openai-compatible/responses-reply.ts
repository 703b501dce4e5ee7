import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/providers.js'
import type { CallPiece, Phase, ProviderDelta, TextPiece } from '../../conversation/delta.js'
import { isObject, isText, type JsonObject, textOf } from '../../protocol/json-values.js'
import { RESPONSES_FORMAT } from '../../protocol/responses-request.js'
import { urlCitation } from '../../protocol/url-citation.js'
import { fromWire } from '../../protocol/wire-bytes.js'
import { isTooDeepAs, parseLoosely, parseProviderObject, readFrame } from '../provider-json.js'
import { ReplyReader } from '../reply-reader.js'
import { addOrPassOver, UnreadableContent, unreadable } from '../unreadable.js'
import { frameError } from '../upstream-errors.js'
import { BYTES_A_CHARACTER, REPEATS, readStateEvent } from './response-state.js'
import { readUsage, type UnlistedTokens } from './usage.js'

/** Returns the maximum number of bytes of a reply that may repeat the request. */
export function repeatedBytes(body: string): number {
  return REPEATS * BYTES_A_CHARACTER * body.length
}

/**
 * Returns a reader for one reply of the Responses API, streamed or whole.
 *
 * @param body the request
 */
export function createResponsesReader(
  body: string,
  eventBytes: number,
  unlistedTokens: UnlistedTokens,
): ReplyReader {
  const stream = new ResponseReader(unlistedTokens)
  return new ReplyReader(eventBytes + BYTES_A_CHARACTER * body.length, {
    fastPaths: false,
    onEvent(data, type, events) {
      if (type === 'error') throw frameError(parseLoosely(fromWire(data)))
      if (data.trim() === '' || data.startsWith('[DONE]')) return stream.terminated
      const text = fromWire(data)
      const state = readStateEvent(text)
      if (state !== undefined) {
        addOrPassOver(events, () => stream.read(state, events))
        return stream.terminated
      }
      for (const event of readFrame(text, type, events)) {
        if (isTooDeepAs(text, event)) events.push(unreadable('An event of the stream is nested too deeply.'))
        else addOrPassOver(events, () => stream.read(event, events))
      }
      return stream.terminated
    },
    onBody(json, events) {
      const response = parseProviderObject(json)
      if (response.object !== 'response' && !Array.isArray(response.output)) throw notAResponse(response)
      stream.readWhole(response, events)
    },
  })
}

function notAResponse(body: JsonObject): ProviderError {
  if (body.error !== undefined && body.error !== null) return frameError(body)
  return new ProviderError('invalid-response', 'The reply is not a response.')
}

/** An item that has started. */
interface OpenItem {
  /** The number of a call among all calls. */
  readonly call: number | undefined
  readonly form: CallPiece['form']
  /** The item as it was when it started. Some providers send all of it then. */
  readonly given: JsonObject
  /** The parts whose text has come, by their numbers. A call has one part. */
  readonly said: Set<unknown>
  summaries: number
  isDone: boolean
}

/** Where a text belongs: the number of a part of an item. */
interface Place {
  readonly index: unknown
  readonly part: unknown
}

const ENDS = new Set<unknown>([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
])

/** Turns the events of a response into deltas. Skips unknown events, since the API often adds some. */
class ResponseReader {
  terminated = false
  private id: string | undefined
  private calls = 0
  private readonly items = new Map<unknown, OpenItem>()
  /** The index of the item that started last, for events without one. */
  private latest: unknown = 0

  constructor(private readonly unlistedTokens: UnlistedTokens) {}

  /** Reads one event. Throws for a failure, after adding its usage to `events`. */
  read(event: JsonObject, events: ProviderEvent[]): ProviderEvent[] {
    const { arguments: args, delta, input, item, part, response, text, type } = event
    const index = event.output_index ?? this.latest
    const { content_index: content = 0, summary_index: summary } = event
    const place = { index, part: summary === undefined ? content : `summary ${summary}` }
    if (ENDS.has(type)) return this.readEnd(isObject(response) ? response : {}, events)
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        return isObject(response) && this.id === undefined ? this.start(response) : []
      case 'response.output_item.added':
        return isObject(item) ? this.begin(index, item) : []
      case 'response.output_item.done':
        return isObject(item) ? this.finish(index, item) : []
      case 'response.output_text.delta':
        return this.text(place, 'text', delta, event.logprobs)
      case 'response.output_text.done':
        return this.missing(place, () => this.text(place, 'text', text, event.logprobs))
      case 'response.content_part.done':
        return isObject(part) ? this.missing(place, () => this.wholePart(place, part)) : []
      case 'response.refusal.delta':
        return this.text(place, 'refusal', delta)
      case 'response.refusal.done':
        return this.missing(place, () => this.text(place, 'refusal', event.refusal))
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.text(place, 'thought', delta)
      case 'response.reasoning_summary_text.done':
      case 'response.reasoning_text.done':
        return this.missing(place, () => this.text(place, 'thought', text))
      case 'response.reasoning_summary_part.added':
        return this.beginSummary(index)
      case 'response.output_text.annotation.added':
        return this.annotation(event.annotation)
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.inputOf(index, delta)
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.done':
        return this.missing({ index, part: CALL }, () => this.inputOf(index, args ?? input))
      case 'error':
        throw frameError(event)
      default:
        return []
    }
  }

  /** Reads a whole response as the events in which it would have been streamed. */
  readWhole(response: JsonObject, events: ProviderEvent[]): void {
    addOrPassOver(events, () => this.start(response))
    addOrPassOver(events, () => this.readEnd(response, events))
  }

  private start(response: JsonObject): ProviderEvent[] {
    this.id = textOf(response.id)
    return [
      { ...deltas({ type: 'start', choice: 0 }), ...(this.id !== undefined && { labels: { id: this.id } }) },
    ]
  }

  private readEnd(response: JsonObject, events: ProviderEvent[]): ProviderEvent[] {
    const { error, incomplete_details: incomplete, output, status } = response
    const report = readUsage(response.usage, this.unlistedTokens)
    if (status === 'failed' || status === 'cancelled' || (error !== undefined && error !== null)) {
      if (report !== undefined) events.push({ type: 'usage', usage: report, final: true })
      throw frameError({ error: error ?? { message: `The response is ${status}.` } })
    }
    const read: ProviderEvent[] = []
    const known = new Map([...this.items].map(([index, { given }]) => [given.id, index]))
    for (const [position, item] of (Array.isArray(output) ? output : []).entries()) {
      if (!isObject(item)) continue
      const index = isText(item.id) ? (known.get(item.id) ?? position) : position
      const open = this.items.get(index)
      // The positions in the last event may differ from those of the stream.
      if (open !== undefined && open.given.type !== item.type) continue
      addOrPassOver(read, () => this.finish(index, item))
    }
    for (const [index, { given }] of this.items) addOrPassOver(read, () => this.finish(index, given))
    this.terminated = true
    const why = isObject(incomplete) ? textOf(incomplete.reason) : undefined
    const reason = why ?? (this.calls > 0 ? 'tool_calls' : 'stop')
    const end = deltas({ type: 'end', choice: 0, reason })
    return report === undefined ? [...read, end] : [...read, end, { type: 'usage', usage: report }]
  }

  private begin(index: unknown, item: JsonObject): ProviderEvent[] {
    const form = item.type === 'custom_tool_call' ? 'custom' : 'function'
    const isCall = form === 'custom' || item.type === 'function_call'
    const name = textOf(item.name)
    const call = isCall && name !== undefined ? this.calls++ : undefined
    this.items.set(index, { call, form, given: item, said: new Set(), summaries: 0, isDone: false })
    this.latest = index
    const { phase, type } = item
    if (type === 'message' && isPhase(phase))
      return [deltas({ type: 'begin', kind: 'message', choice: 0, phase })]
    if (!isCall) return []
    if (call === undefined) throw new UnreadableContent('A call has no name.')
    const id = textOf(item.call_id) ?? textOf(item.id)
    return [deltas({ type: 'call', choice: 0, call, form, id, name, input: '' })]
  }

  /**
   * Reads the parts of an item that have not come: all of it in some cases, and always the encrypted reasoning. Returns
   * nothing the second time.
   */
  private finish(index: unknown, item: JsonObject): ProviderEvent[] {
    const begun = this.items.has(index) ? [] : this.begin(index, item)
    const open = this.items.get(index)!
    if (open.isDone) return []
    open.isDone = true
    const call = { index, part: CALL }
    switch (item.type) {
      case 'function_call':
        return [...begun, ...this.missing(call, () => this.inputOf(index, item.arguments))]
      case 'custom_tool_call':
        return [...begun, ...this.missing(call, () => this.inputOf(index, item.input))]
      case 'message':
        return [...begun, ...this.wholeMessage(index, item.content)]
      case 'reasoning':
        return [...(open.said.size > 0 ? [] : this.wholeReasoning(index, item)), ...encrypted(item)]
      default:
        return begun
    }
  }

  private wholeMessage(index: unknown, content: unknown): ProviderEvent[] {
    const parts = Array.isArray(content) ? content : []
    return parts.flatMap((part: unknown, position) => {
      const place = { index, part: position }
      return isObject(part) ? this.missing(place, () => this.wholePart(place, part)) : []
    })
  }

  private wholePart(place: Place, part: JsonObject): ProviderEvent[] {
    if (part.type === 'refusal') return this.text(place, 'refusal', part.refusal)
    const annotations = Array.isArray(part.annotations) ? part.annotations : []
    return [
      ...this.text(place, 'text', part.text, part.logprobs),
      ...annotations.flatMap((annotation) => this.annotation(annotation)),
    ]
  }

  /** Returns what of a part came only at its end: all of it, or nothing if some of it came before. */
  private missing({ index, part }: Place, read: () => ProviderEvent[]): ProviderEvent[] {
    return this.items.get(index)?.said.has(part) === true ? [] : read()
  }

  private wholeReasoning(index: unknown, { content, summary }: JsonObject): ProviderEvent[] {
    const parts = [summary, content].map((list) => (Array.isArray(list) ? list.filter(isObject) : []))
    const texts = (parts.find((list) => list.length > 0) ?? []).map(({ text }) => textOf(text) ?? '')
    return this.text({ index, part: 0 }, 'thought', texts.join('\n\n'))
  }

  private beginSummary(index: unknown): ProviderEvent[] {
    const open = this.items.get(index)
    if (open === undefined || open.summaries++ === 0) return []
    return [deltas({ type: 'text', choice: 0, kind: 'thought', text: '\n\n' })]
  }

  private text(
    { index, part }: Place,
    kind: TextPiece['kind'],
    text: unknown,
    logprobs?: unknown,
  ): ProviderEvent[] {
    if (text === undefined || text === null || text === '') return []
    if (typeof text !== 'string') throw new UnreadableContent('A delta is not text.')
    // Some providers send no start of an item.
    const begun = this.items.has(index) ? [] : this.begin(index, kind === 'thought' ? THOUGHT : MESSAGE)
    this.items.get(index)?.said.add(part)
    const said: TextPiece = { type: 'text', choice: 0, kind, text }
    if (!Array.isArray(logprobs) || logprobs.length === 0) return [...begun, deltas(said)]
    return [...begun, deltas({ type: 'logprobs', choice: 0, logprobs: { content: logprobs } }, said)]
  }

  private annotation(given: unknown): ProviderEvent[] {
    if (!isObject(given) || given.type !== 'url_citation' || !isText(given.url)) return []
    return [deltas({ type: 'annotation', choice: 0, annotation: urlCitation(given.url, given) })]
  }

  private inputOf(index: unknown, input: unknown): ProviderEvent[] {
    const open = this.items.get(index)
    if (open?.call === undefined || input === '' || input === undefined || input === null) return []
    if (typeof input !== 'string') throw new UnreadableContent('The arguments of a call are not text.')
    open.said.add(CALL)
    return [deltas({ type: 'call', choice: 0, call: open.call, form: open.form, input })]
  }
}

function deltas(...list: readonly ProviderDelta[]) {
  return { type: 'deltas', deltas: list } as const
}

function encrypted({ encrypted_content: data, id }: JsonObject): ProviderEvent[] {
  if (!isText(data)) return []
  const piece = { kind: 'encrypted', data, id: textOf(id), format: RESPONSES_FORMAT } as const
  return [deltas({ type: 'thoughts', choice: 0, pieces: [piece] })]
}

/** The one part of a call. */
const CALL = 'input'
const MESSAGE: JsonObject = Object.freeze({ type: 'message' })
const THOUGHT: JsonObject = Object.freeze({ type: 'reasoning' })

function isPhase(value: unknown): value is Phase {
  return value === 'commentary' || value === 'final_answer'
}
