import { createParser } from 'eventsource-parser'
import { parseExactly, plainDecimal } from './exact-json.js'

/** The cost of a call, digit by digit as the router wrote it. */
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

/** An error, as the router reported it. */
export interface CallError {
  readonly message: string
  readonly code: string
  /** The status of the reply; 0 if the stream had begun, or nothing replied. */
  readonly status: number
  readonly param?: string
  /** `gateway` or `provider`. */
  readonly source?: string
}

/** The first choice of a reply. */
export interface Reply {
  readonly text: string
  /** The text that the model sent instead of an answer. */
  readonly refusal: string
  readonly reasoning: string
  readonly toolCalls: readonly ToolCall[]
  /** The number of choices besides the first. */
  readonly otherChoices: number
  readonly finishReason?: string
  readonly cost?: Cost
  readonly error?: CallError
  /** Whether `[DONE]` arrived: a stream that ends without it has failed. */
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
    message: asText(message) || `The reply had status ${status} and no readable error.`,
    code: asText(code) || 'unknown',
    status,
    ...(typeof param === 'string' && { param }),
    ...(typeof source === 'string' && { source }),
  }
}

/** Adds the content of one frame of a stream, or of a whole completion. */
export function addFrame(reply: Reply, json: string): Reply {
  const frame = asObject(parseExactly(json))
  if (frame.error !== undefined) {
    const cost = readCost(asObject(asObject(asObject(frame.error).metadata)).usage)
    return { ...reply, error: readError(frame, 0), ...(cost !== undefined && { cost }) }
  }
  const cost = readCost(frame.usage)
  const choices = asList(frame.choices).map(asObject)
  const choice = choices.find((one) => indexOf(one) === 0) ?? {}
  const said = asObject(choice.delta ?? choice.message)
  return {
    ...reply,
    text: reply.text + asText(said.content),
    refusal: reply.refusal + asText(said.refusal),
    otherChoices: Math.max(reply.otherChoices, ...choices.map(indexOf)),
    reasoning: reply.reasoning + (asText(said.reasoning) || asText(said.reasoning_content)),
    toolCalls: addToolCalls(reply.toolCalls, asList(said.tool_calls)),
    ...(typeof choice.finish_reason === 'string' && { finishReason: choice.finish_reason }),
    ...(cost !== undefined && { cost }),
  }
}

const indexOf = ({ index }: Json): number => Number(index ?? 0)

function addToolCalls(before: readonly ToolCall[], pieces: readonly unknown[]): readonly ToolCall[] {
  if (pieces.length === 0) return before
  const calls = [...before]
  for (const [position, piece] of pieces.entries()) {
    const { index, id, function: called } = asObject(piece)
    const at = Math.min(index === undefined ? position : Number(index), calls.length)
    const call = calls[at] ?? { id: '', name: '', arguments: '' }
    calls[at] = {
      id: call.id || asText(id),
      name: call.name || asText(asObject(called).name),
      arguments: call.arguments + asText(asObject(called).arguments),
    }
  }
  return calls
}

/** Reports each event of the stream as it arrives, and each comment, which keeps a silent stream open. */
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
