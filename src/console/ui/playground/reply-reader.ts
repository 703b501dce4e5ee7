import { createParser } from 'eventsource-parser'
import { parseExactly, plainDecimal } from './exact-json.js'

/** What a call cost, digit by digit as the router wrote it. */
export interface Cost {
  readonly cost: string
  readonly base: string
  readonly markup: string
  readonly basis: string
  readonly isByok: boolean
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
  readonly reasoningTokens: number
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** What went wrong, as the router told it. */
export interface CallError {
  readonly message: string
  readonly code: string
  /** The status of the answer; 0 where the stream had begun, or nothing answered. */
  readonly status: number
  readonly param?: string
  /** `gateway` or `provider`. */
  readonly source?: string
}

/** The first choice of a reply. */
export interface Reply {
  readonly text: string
  /** What the model said in place of an answer. */
  readonly refusal: string
  readonly reasoning: string
  readonly toolCalls: readonly ToolCall[]
  /** How many choices came beside the first. */
  readonly otherChoices: number
  readonly finishReason?: string
  readonly cost?: Cost
  readonly error?: CallError
  /** Whether `[DONE]` came: a stream that ends without it is no success. */
  readonly isDone: boolean
}

export const emptyReply: Reply = {
  text: '',
  refusal: '',
  reasoning: '',
  toolCalls: [],
  otherChoices: 0,
  isDone: false,
}

type Json = Readonly<Record<string, unknown>>

const asObject = (value: unknown): Json =>
  typeof value === 'object' && value !== null ? (value as Json) : {}
const asText = (value: unknown): string => (typeof value === 'string' ? value : '')
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

function readCost(usage: unknown): Cost | undefined {
  const { cost, charge, is_byok, prompt_tokens, completion_tokens, ...details } = asObject(usage)
  if (typeof cost !== 'string') return undefined
  const { base_cost, markup_cost, basis } = asObject(charge)
  return {
    cost: plainDecimal(cost),
    base: plainDecimal(asText(base_cost)),
    markup: plainDecimal(asText(markup_cost)),
    basis: asText(basis),
    isByok: is_byok === true,
    promptTokens: Number(prompt_tokens),
    completionTokens: Number(completion_tokens),
    cachedTokens: Number(asObject(details.prompt_tokens_details).cached_tokens ?? 0),
    reasoningTokens: Number(asObject(details.completion_tokens_details).reasoning_tokens ?? 0),
  }
}

export function readError(body: unknown, status: number): CallError {
  const { message, code, param, source } = asObject(asObject(body).error)
  return {
    message: asText(message) || `The answer had status ${status} and no error that can be read.`,
    code: asText(code) || 'unknown',
    status,
    ...(typeof param === 'string' ? { param } : {}),
    ...(typeof source === 'string' ? { source } : {}),
  }
}

/** Adds what one frame of a stream, or a whole completion, brought. */
export function addFrame(reply: Reply, json: string): Reply {
  const frame = asObject(parseExactly(json))
  if (frame.error !== undefined) {
    const cost = readCost(asObject(asObject(asObject(frame.error).metadata)).usage)
    return { ...reply, error: readError(frame, 0), ...(cost === undefined ? {} : { cost }) }
  }
  const cost = readCost(frame.usage)
  const choices = asList(frame.choices).map(asObject)
  const choice = choices.find((one) => placeOf(one) === 0) ?? {}
  const said = asObject(choice.delta ?? choice.message)
  return {
    ...reply,
    text: reply.text + asText(said.content),
    refusal: reply.refusal + asText(said.refusal),
    otherChoices: Math.max(reply.otherChoices, ...choices.map(placeOf)),
    reasoning: reply.reasoning + (asText(said.reasoning) || asText(said.reasoning_content)),
    toolCalls: addToolCalls(reply.toolCalls, asList(said.tool_calls)),
    ...(typeof choice.finish_reason === 'string' ? { finishReason: choice.finish_reason } : {}),
    ...(cost === undefined ? {} : { cost }),
  }
}

const placeOf = ({ index }: Json): number => Number(index ?? 0)

function addToolCalls(before: readonly ToolCall[], pieces: readonly unknown[]): readonly ToolCall[] {
  if (pieces.length === 0) return before
  const calls = [...before]
  for (const [place, piece] of pieces.entries()) {
    const { index, id, function: called } = asObject(piece)
    const at = Math.min(index === undefined ? place : Number(index), calls.length)
    const call = calls[at] ?? { id: '', name: '', arguments: '' }
    calls[at] = {
      id: call.id || asText(id),
      name: call.name || asText(asObject(called).name),
      arguments: call.arguments + asText(asObject(called).arguments),
    }
  }
  return calls
}

/** Hands out each event of the stream as it comes; comments too, which keep a silent stream open. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvent: (data: string) => void,
  onComment: (comment: string) => void,
): Promise<void> {
  const parser = createParser({ onEvent: ({ data }) => onEvent(data), onComment })
  const decoder = new TextDecoder()
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    parser.feed(decoder.decode(value, { stream: true }))
  }
}
