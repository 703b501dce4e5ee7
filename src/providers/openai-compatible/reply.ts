import { ProviderError } from '../../base/errors.js'
import type { ProviderEvent } from '../../contracts/providers.js'
import { isFailureReason, ownFinishReason } from '../../protocol/finish-reason.js'
import { isObject, isText, type JsonObject, saysNothing } from '../../protocol/json-values.js'
import { errorInChoice, isBareFailure, isEmptyError } from '../../protocol/reply-errors.js'
import { fromWire, type WireBytes } from '../../protocol/wire-bytes.js'
import { parseLoosely, parseProviderObject, readFrame } from '../provider-json.js'
import type { ReplyFormat } from '../reply-reader.js'
import { frameError } from '../upstream-errors.js'
import type { ReasoningField } from './history.js'
import { isPlainLine } from './plain-line.js'
import { readUsage, type UnlistedTokens } from './usage.js'

/**
 * The field in which a provider sends reasoning. It needs the reasoning of earlier replies in the same field, but
 * clients return it in the one that they read. Learned from the members of its replies, which no caller can choose.
 */
export class ProviderReasoning {
  field: ReasoningField | undefined

  /** Learns from the parsed choices of a reply. If they have both fields, either may be used. */
  learn(choices: unknown): void {
    if (!Array.isArray(choices)) return
    for (const choice of choices) {
      const said = isObject(choice) ? (choice.delta ?? choice.message) : undefined
      if (!isObject(said) || isText(said.reasoning) === isText(said.reasoning_content)) continue
      this.field = isText(said.reasoning) ? 'reasoning' : 'reasoning_content'
    }
  }
}

/** Reasoning comes first in a reply, so only the first plain events of a stream are searched for it. */
const SEARCHED_EVENTS = 8

/** Reads one reply, as a stream or as JSON. */
export class ReplyReading implements ReplyFormat {
  private searched = 0

  constructor(
    readonly fastPaths: boolean,
    private readonly unlistedTokens: UnlistedTokens,
    private readonly reasoning: ProviderReasoning,
  ) {}

  /** Returns `true` for `[DONE]`. */
  onEvent(data: WireBytes, type: string | undefined, events: ProviderEvent[]): boolean {
    if (data.startsWith('[DONE]')) return true
    if (type === 'error') throw frameError(parseLoosely(fromWire(data)))
    if (isPlainLine(data)) {
      if (this.searched < SEARCHED_EVENTS) this.searchReasoning(data)
      events.push({ type: 'data', bytes: data })
      return false
    }
    // Vertex AI keeps the streams of its partners' models alive with comments sent as data.
    if (data.trim() === '' || data.startsWith(':')) return false
    for (const reply of readFrame(fromWire(data), type, events)) {
      this.reasoning.learn(reply.choices)
      this.readChunk(reply, events)
    }
    return false
  }

  onBody(json: string, events: ProviderEvent[]): void {
    const reply = parseProviderObject(json)
    const failure = failureIn(reply)
    if (failure !== undefined) throw failure
    const { choices } = reply
    if (!Array.isArray(choices)) throw noList()
    this.reasoning.learn(choices)
    const report = readUsage(usageOf(reply), this.unlistedTokens)
    events.push({ type: 'completion', completion: withLabels(reply, choices.map(withoutUsage)) })
    if (report !== undefined) events.push({ type: 'usage', usage: report })
  }

  /** Parses a plain event only if it may contain reasoning. */
  private searchReasoning(data: string): void {
    this.searched++
    if (!data.includes('"reasoning')) return
    const chunk = parseLoosely(data)
    if (isObject(chunk)) this.reasoning.learn(chunk.choices)
  }

  private readChunk(reply: JsonObject, events: ProviderEvent[]): void {
    const report = readUsage(usageOf(reply), this.unlistedTokens)
    const failure = failureIn(reply)
    const { choices } = reply
    const failed = failure !== undefined || (report !== undefined && hasFailedChoice(choices))
    if (report !== undefined && failed) events.push({ type: 'usage', usage: report, final: true })
    if (failure !== undefined) throw failure
    const isList = Array.isArray(choices)
    if (isList || saysNothing(choices)) {
      events.push({ type: 'chunk', chunk: withLabels(reply, isList ? choices.map(withoutUsage) : undefined) })
      if (!isList && choices !== undefined && choices !== null) events.push(CHOICE_SKIPPED)
    }
    if (report !== undefined && !failed) events.push({ type: 'usage', usage: report })
    if (!isList && !saysNothing(choices)) throw noList()
  }
}

/** Whether a choice ends with a reason that means a failure. */
function hasFailedChoice(choices: unknown): boolean {
  return (
    Array.isArray(choices) &&
    choices.some((choice) => isObject(choice) && isFailureReason(ownFinishReason(choice)))
  )
}

const CHOICE_SKIPPED: ProviderEvent = Object.freeze({ type: 'mended', kind: 'choice-skipped' })

function noList(): ProviderError {
  return new ProviderError('invalid-response', 'The reply has no list of choices.')
}

/** Groq repeats its usage in `x_groq`, or sends it only there. Others put it in a choice or its message. */
function usageOf({ choices, usage, x_groq: groq }: JsonObject): unknown {
  const stated = usage ?? (isObject(groq) ? groq.usage : undefined)
  if (stated !== undefined && stated !== null) return stated
  if (!Array.isArray(choices)) return undefined
  const found = choices.flatMap(usagesIn)
  // If each choice has its own usage, none of them is the usage of the whole reply.
  return found.length === 1 ? found[0] : undefined
}

function usagesIn(choice: unknown): readonly unknown[] {
  if (!isObject(choice)) return []
  const { delta, message, usage } = choice
  const places = [
    usage,
    isObject(delta) ? delta.usage : undefined,
    isObject(message) ? message.usage : undefined,
  ]
  const stated = places.find((place) => place !== undefined && place !== null)
  return stated === undefined ? [] : [stated]
}

/** Returns the choices with all other members of a reply, except its usage and an empty error. */
function withLabels<Choices>(reply: JsonObject, choices: Choices) {
  const { error: _error, usage: _usage, x_groq: _groq, ...labels } = reply
  return Object.assign(labels, { choices })
}

/** Returns a choice without usages, which may state the provider's own cost. */
function withoutUsage(choice: unknown): unknown {
  if (!isObject(choice) || usagesIn(choice).length === 0) return choice
  const { usage: _, ...rest } = choice
  for (const name of ['delta', 'message']) {
    const said = rest[name]
    if (!isObject(said) || !('usage' in said)) continue
    const { usage: __, ...members } = said
    rest[name] = members
  }
  return rest
}

/**
 * Returns the failure that a reply reports: an error at its top level, in a choice, or in Groq's `x_groq`, which says
 * why a stream was stopped early. An empty error counts only if there are no choices.
 */
function failureIn(reply: JsonObject): ProviderError | undefined {
  const { choices, error: own, x_groq: groq } = reply
  const error = own ?? (isObject(groq) ? groq.error : undefined)
  if (error !== undefined && error !== null && (!Array.isArray(choices) || !isEmptyError(error))) {
    return frameError(reply)
  }
  if (isBareFailure(reply)) return frameError(reply)
  const inChoice = Array.isArray(choices)
    ? choices.map(errorInChoice).find((found) => found !== undefined)
    : undefined
  return inChoice === undefined ? undefined : frameError({ error: inChoice })
}
