import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  choiceCount,
  type StandInChoice,
  type StandInReply,
  type StandInRequest,
  standInReply,
} from './reply.js'

export const standInModels = ['demo-small', 'demo-large'] as const

export interface StandInOptions {
  /** The key that callers must send. A random one by default. */
  readonly apiKey?: string
  /** `demo-small` and `demo-large` by default. */
  readonly models?: readonly string[]
  /** The time between two tokens of a stream, in milliseconds. 40 by default, about the speed of a fast reader. */
  readonly tokenDelayMs?: number
  /** A sentence at the end of each prose reply. */
  readonly remark?: string
}

/** How a stand-in fails: with an error status before its reply, or by ending the connection after some tokens. */
export type StandInFailure =
  | {
      readonly status: number
      readonly message?: string
      readonly headers?: Readonly<Record<string, string>>
    }
  | { readonly afterTokens: number }

export interface StandIn {
  /** Ends in `/v1`. */
  readonly baseUrl: string
  /** The key that callers must send. */
  readonly apiKey: string
  /** Makes the next chat completions fail, one for each failure, in this order. */
  failNext(...failures: readonly StandInFailure[]): void
  /** Ends all connections. May be called again. */
  close(): Promise<void>
}

const MAX_BODY_BYTES = 64 * 1024 * 1024
/** Bytes of a body times its choices. All callers share the process that builds the replies. */
const MAX_WORK_BYTES = 4 * 1024 * 1024

interface Running {
  readonly apiKey: string
  readonly models: readonly string[]
  readonly tokenDelayMs: number
  readonly remark: string
  readonly failures: StandInFailure[]
}

/**
 * Starts a provider on a loopback port, for demonstrations and for tests. It speaks the wire format of OpenAI's chat
 * completions: it streams, calls tools, fills in JSON schemas, counts tokens and fails on demand. No model is behind it:
 * its replies quote the question.
 */
export async function startStandIn(options: StandInOptions = {}): Promise<StandIn> {
  const running: Running = {
    apiKey: options.apiKey ?? `sk-stand-in-${randomBytes(18).toString('base64url')}`,
    models: options.models ?? standInModels,
    tokenDelayMs: options.tokenDelayMs ?? 40,
    remark: options.remark ?? '',
    failures: [],
  }
  const server = createServer((req, res) => {
    answer(req, res, running).catch((error: unknown) => {
      if (res.headersSent) res.destroy()
      else fail(res, 500, error instanceof Error ? error.message : 'unknown fault', 'server_error')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let closing: Promise<void> | undefined
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    apiKey: running.apiKey,
    failNext(...failures) {
      running.failures.push(...failures)
    },
    close() {
      closing ??= end(server)
      return closing
    },
  }
}

async function end(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

async function answer(req: IncomingMessage, res: ServerResponse, running: Running): Promise<void> {
  if (req.headers.authorization !== `Bearer ${running.apiKey}`) {
    return fail(res, 401, 'Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key')
  }
  const path = req.url?.split('?')[0]
  if (req.method === 'GET' && path === '/v1/models') return send(res, 200, modelList(running))
  if (req.method === 'POST' && path === '/v1/chat/completions') return chat(req, res, running)
  return fail(res, 404, `Unknown request URL: ${req.method} ${path}`)
}

function modelList({ models }: Running) {
  const data = models.map((id) => ({ id, object: 'model', created: 1_735_689_600, owned_by: 'demo' }))
  return { object: 'list', data }
}

async function chat(req: IncomingMessage, res: ServerResponse, running: Running): Promise<void> {
  const { body, bytes } = await readJson(req)
  if (body === undefined) return fail(res, 400, 'We could not parse the JSON body of your request.')
  if (bytes * choiceCount(body.n) > MAX_WORK_BYTES) {
    return fail(res, 400, 'The request is too large for the demo model.')
  }
  const { failures, models, remark, tokenDelayMs } = running
  if (!models.some((model) => model === body.model)) {
    const message = `The model \`${String(body.model)}\` does not exist.`
    return fail(res, 404, message, 'invalid_request_error', 'model_not_found')
  }
  if (!isMessages(body.messages)) return fail(res, 400, "Missing required parameter: 'messages'.")
  const failure = failures.shift()
  if (failure !== undefined && 'status' in failure) {
    const { headers = {}, message = 'The stand-in fails on demand.', status } = failure
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
    return fail(res, status, message, 'server_error')
  }
  const reply = standInReply({ ...(body as Partial<StandInRequest>), messages: body.messages }, remark)
  const head = {
    id: `chatcmpl-${randomUUID()}`,
    created: Math.floor(Date.now() / 1_000),
    model: String(body.model),
  }
  if (body.stream !== true) {
    if (failure === undefined) return send(res, 200, completion(head, reply))
    res.destroy()
    return
  }
  const includeUsage = (body.stream_options as { include_usage?: unknown } | null | undefined)?.include_usage
  await stream(res, head, reply, {
    includeUsage: includeUsage === true,
    tokenDelayMs,
    endsAfter: failure?.afterTokens,
  })
}

interface Head {
  readonly id: string
  readonly created: number
  readonly model: string
}

function completion(head: Head, reply: StandInReply) {
  return {
    ...head,
    object: 'chat.completion',
    choices: reply.choices.map((choice) => ({
      index: choice.index,
      message: { role: 'assistant', refusal: null, ...messageOf(choice) },
      logprobs: null,
      finish_reason: choice.finishReason,
    })),
    usage: usageOf(reply),
    system_fingerprint: 'fp_demo',
  }
}

function messageOf({ tool, tokens }: StandInChoice) {
  const text = tokens.join('')
  if (tool === undefined) return { content: text }
  return {
    content: null,
    tool_calls: [{ id: tool.id, type: 'function', function: { name: tool.name, arguments: text } }],
  }
}

interface StreamOptions {
  readonly includeUsage: boolean
  readonly tokenDelayMs: number
  /** The number of tokens after which the connection ends. Undefined if the reply is complete. */
  readonly endsAfter: number | undefined
}

async function stream(
  res: ServerResponse,
  head: Head,
  reply: StandInReply,
  { endsAfter, includeUsage, tokenDelayMs }: StreamOptions,
): Promise<void> {
  const left = new AbortController()
  res.once('close', () => left.abort())
  const write = (choices: readonly object[], usage: object | null = null): void => {
    const chunk = { ...head, object: 'chat.completion.chunk', system_fingerprint: 'fp_demo', choices }
    res.write(`data: ${JSON.stringify(includeUsage ? { ...chunk, usage } : chunk)}\n\n`)
  }
  res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  for (const choice of reply.choices) write([opening(choice)])
  const longest = Math.max(...reply.choices.map((choice) => choice.tokens.length))
  for (let at = 0; at < longest && !left.signal.aborted; at++) {
    if (at === endsAfter) break
    await sleep(tokenDelayMs, undefined, { signal: left.signal }).catch(() => {})
    for (const choice of reply.choices) if (at < choice.tokens.length) write([tokenDelta(choice, at)])
    if (res.writableNeedDrain) await once(res, 'drain', { signal: left.signal }).catch(() => {})
  }
  if (endsAfter !== undefined) {
    res.socket?.destroySoon()
    return
  }
  for (const choice of reply.choices) write([delta(choice.index, {}, choice.finishReason)])
  if (includeUsage) write([], usageOf(reply))
  res.end('data: [DONE]\n\n')
}

function opening({ index, tool }: StandInChoice) {
  if (tool === undefined) return delta(index, { role: 'assistant', content: '', refusal: null })
  const call = { index: 0, id: tool.id, type: 'function', function: { name: tool.name, arguments: '' } }
  return delta(index, { role: 'assistant', content: null, tool_calls: [call] })
}

function tokenDelta({ index, tool, tokens }: StandInChoice, at: number) {
  if (tool === undefined) return delta(index, { content: tokens[at] })
  return delta(index, { tool_calls: [{ index: 0, function: { arguments: tokens[at] } }] })
}

function delta(index: number, content: object, finishReason: string | null = null) {
  return { index, delta: content, logprobs: null, finish_reason: finishReason }
}

function usageOf({ promptTokens, completionTokens }: StandInReply) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  }
}

function isMessages(value: unknown): value is StandInRequest['messages'] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((message) => typeof message === 'object' && message !== null)
  )
}

async function readJson(
  req: IncomingMessage,
): Promise<{ bytes: number; body: Record<string, unknown> | undefined }> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of req as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MAX_BODY_BYTES) return { bytes, body: undefined }
    parts.push(part)
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(parts).toString())
    const isObject = typeof body === 'object' && body !== null
    return { bytes, body: isObject ? (body as Record<string, unknown>) : undefined }
  } catch {
    return { bytes, body: undefined }
  }
}

function send(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' })
  res.end(JSON.stringify(body))
}

function fail(
  res: ServerResponse,
  status: number,
  message: string,
  type = 'invalid_request_error',
  code: string | null = null,
): void {
  send(res, status, { error: { message, type, param: null, code } })
}
