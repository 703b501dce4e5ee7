import { schemaInstance } from './schema-instance.js'

/** One choice of a reply: its text or its tool call, split into tokens. */
export interface StandInChoice {
  readonly index: number
  /** Together they are the message's content, or the arguments of the tool call. */
  readonly tokens: readonly string[]
  readonly tool?: { readonly id: string; readonly name: string }
  readonly finishReason: 'stop' | 'length' | 'tool_calls'
}

export interface StandInReply {
  readonly choices: readonly StandInChoice[]
  readonly promptTokens: number
  readonly completionTokens: number
}

/** The fields of a request that the stand-in understands. It ignores all others. */
export interface StandInRequest {
  readonly messages: readonly { readonly role?: unknown; readonly content?: unknown }[]
  readonly n?: unknown
  readonly stop?: unknown
  readonly max_tokens?: unknown
  readonly max_completion_tokens?: unknown
  readonly response_format?: unknown
  readonly tools?: unknown
  readonly tool_choice?: unknown
}

const TOKENS_PER_MESSAGE = 4

/**
 * Returns the stand-in's reply: a tool call if the request has a tool to call, JSON if it requires JSON, otherwise a
 * few sentences that quote the question, then `remark`.
 */
export function standInReply(request: StandInRequest, remark: string): StandInReply {
  const count = choiceCount(request.n)
  const answer = answerOf(request, remark)
  const choices = Array.from({ length: count }, (_, index) => choiceOf(request, answer, index, count))
  return {
    choices,
    promptTokens: promptTokens(request),
    completionTokens: choices.reduce((sum, choice) => sum + choice.tokens.length, 0),
  }
}

/** Returns the number of choices that an `n` requests. */
export function choiceCount(n: unknown): number {
  return Number.isInteger(n) ? Math.min(Math.max(Number(n), 1), 128) : 1
}

/** Splits text into short pieces, as a tokenizer might. Each includes the white space before it. */
export function tokensOf(text: string): string[] {
  return text.match(/\s*[\p{L}\p{N}]{1,6}|\s*[^\s\p{L}\p{N}]|\s+$/gu) ?? []
}

/** The content that all choices of a reply share. */
type Answer =
  | { readonly kind: 'tool'; readonly name: string; readonly text: string }
  | { readonly kind: 'json' | 'prose'; readonly text: string }

function answerOf(request: StandInRequest, remark: string): Answer {
  const tool = toolToCall(request)
  const question = lastQuestion(request)
  if (tool !== undefined) {
    const text = JSON.stringify(schemaInstance(tool.parameters ?? { type: 'object' }, nameIn(question)))
    return { kind: 'tool', name: tool.name, text }
  }
  const json = jsonReply(request, question)
  return json === undefined
    ? { kind: 'prose', text: sentences(request, question, remark) }
    : { kind: 'json', text: json }
}

function choiceOf(request: StandInRequest, answer: Answer, index: number, count: number): StandInChoice {
  const { kind, text } = answer
  if (kind === 'tool') {
    return cut(request, { index, tool: { id: `call_demo_${index}`, name: answer.name } }, text, 'tool_calls')
  }
  if (kind === 'json') return cut(request, { index }, text, 'stop')
  const prefix = count === 1 ? '' : `Choice ${index + 1} of ${count}. `
  return cut(request, { index }, upToStop(prefix + text, request.stop), 'stop')
}

function cut(
  request: StandInRequest,
  choice: Pick<StandInChoice, 'index' | 'tool'>,
  text: string,
  finishReason: StandInChoice['finishReason'],
): StandInChoice {
  const tokens = tokensOf(text)
  const bound = [request.max_completion_tokens, request.max_tokens].find(
    (value): value is number => typeof value === 'number' && value > 0,
  )
  if (bound === undefined || tokens.length <= bound) return { ...choice, tokens, finishReason }
  return { ...choice, tokens: tokens.slice(0, bound), finishReason: 'length' }
}

function sentences(request: StandInRequest, question: string, remark: string): string {
  const last = request.messages.at(-1)
  if (last?.role === 'tool') return `The tool answered: ${textOf(last.content)}`
  const said =
    `Hello from the demo model. You wrote: "${question}". I am a small stand-in that runs on this machine, ` +
    'so that you can see a whole call, from the client to the ledger.'
  return remark === '' ? said : `${said} ${remark}`
}

function jsonReply(request: StandInRequest, question: string): string | undefined {
  const format = asRecord(request.response_format)
  if (format?.type === 'json_schema') {
    return JSON.stringify(schemaInstance(asRecord(format.json_schema)?.schema, nameIn(question)))
  }
  return format?.type === 'json_object' ? JSON.stringify({ reply: 'Hello', question }) : undefined
}

interface FunctionTool {
  readonly name: string
  readonly description?: unknown
  readonly parameters?: unknown
}

function toolToCall(request: StandInRequest): FunctionTool | undefined {
  const tools = (Array.isArray(request.tools) ? request.tools : [])
    .map((tool) => asRecord(asRecord(tool)?.function))
    .filter((tool): tool is Record<string, unknown> & FunctionTool => typeof tool?.name === 'string')
  if (request.tool_choice === 'none') return undefined
  const wanted = asRecord(asRecord(request.tool_choice)?.function)?.name
  if (wanted !== undefined) return tools.find((tool) => tool.name === wanted)
  const answered = request.messages.at(-1)?.role === 'tool'
  if (answered && request.tool_choice !== 'required') return undefined
  return closest(tools, lastQuestion(request))
}

/** Returns the tool whose name and description share the most words with the question. On a tie, returns the first. */
function closest(tools: readonly FunctionTool[], question: string): FunctionTool | undefined {
  const asked = new Set(words(question))
  const rated = tools.map((tool) => {
    const said = words(`${tool.name} ${String(tool.description ?? '')}`)
    return { tool, shared: said.filter((word) => asked.has(word)).length }
  })
  return rated.sort((one, other) => other.shared - one.shared)[0]?.tool
}

function words(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

/** Returns the last capitalised word, but not the first word: "Is it warm in Paris?" is about Paris. */
function nameIn(question: string): string {
  return question.match(/(?<=\S\s+)\p{Lu}\p{L}+/gu)?.at(-1) ?? 'text'
}

function lastQuestion(request: StandInRequest): string {
  return textOf(request.messages.findLast((message) => message.role === 'user')?.content)
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part) => asRecord(part)?.text)
    .filter((text) => typeof text === 'string')
    .join(' ')
}

function promptTokens(request: StandInRequest): number {
  const tools = request.tools === undefined ? 0 : tokensOf(JSON.stringify(request.tools)).length
  return request.messages.reduce(
    (sum, message) => sum + TOKENS_PER_MESSAGE + tokensOf(textOf(message.content)).length,
    tools,
  )
}

function upToStop(text: string, stop: unknown): string {
  const ends = (Array.isArray(stop) ? stop : [stop])
    .filter((word): word is string => typeof word === 'string' && word !== '')
    .map((word) => text.indexOf(word))
    .filter((at) => at >= 0)
  return text.slice(0, Math.min(text.length, ...ends))
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}
