import type { IncomingMessage, ServerResponse } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { type Api, PATHS } from './apis.js'
import {
  type Bill,
  inputTokens,
  makeBill,
  outputBound,
  promptTokens,
  rejectedPrediction,
  thinkingBudget,
} from './bill.js'
import type { CallPlan, ReplyKind } from './call-plan.js'
import { isObject, type Json, type JsonObject } from './json.js'
import { LANGUAGES, type ToolCall, type WholeReply } from './provider-language.js'
import { HOST_HEADER, HOST_KEY, type ModelPlan, OWN_KEY, type RoutePlan } from './scenario.js'

/** One request that reached a provider, and the provider's bill for it. */
export interface Arrival {
  readonly provider: string
  /** The API at which it arrived. */
  readonly api: Api
  readonly text: string
  readonly body: JsonObject
  readonly credential: string | undefined
  readonly hostHeader: string | undefined
  /** The amount due to the provider. It grows while the reply is written. */
  bill: Bill | undefined
  status: number
  /** How it ended: answered completely, or aborted by the router. */
  ended: 'answered' | 'hung-up' | undefined
  /** Whether the provider failed, so that nobody owes it anything. */
  failedByItself: boolean
  reported: boolean
  askedForUsage: boolean
}

/** The provider's access to its world. */
export interface ProviderSide {
  /** Lets the caller leave here, if planned, and waits until the router has noticed. */
  passes(point: 'before-first' | 'mid' | 'with-last', arrival: Arrival, marker: string): Promise<void>
  /** Moves the router's clock. */
  sleeps(ms: number): Promise<void>
}

/** Reads a request and answers it according to the call's plan. */
export async function serve(
  req: IncomingMessage,
  res: ServerResponse,
  plan: CallPlan,
  model: ModelPlan,
  route: RoutePlan,
  side: ProviderSide,
  arrived: (text: string) => { readonly arrival: Arrival; readonly isFirst: boolean },
): Promise<void> {
  const { arrival, isFirst } = arrived(await readText(req))
  let closed = false
  res.on('close', () => {
    closed = true
    arrival.ended ??= res.writableFinished ? 'answered' : 'hung-up'
  })
  const reply = new Answer(arrival, plan, model, route, side, res, () => closed)
  await reply.give(isFirst)
}

/** Numbers of many digits, as only a hostile caller sends them. A model reads each digit. */
const LONG_NUMBERS = /(?<=[[:,])7{17,}(?=[,\]}])/g

export function makeArrival(
  { language }: ModelPlan,
  provider: string,
  text: string,
  req: IncomingMessage,
): Arrival {
  const body = JSON.parse(text.replace(LONG_NUMBERS, '"$&"')) as JsonObject
  const { authorization, 'x-api-key': apiKey } = req.headers
  const options = body.stream_options
  return {
    provider,
    api: apiOf(req.url ?? ''),
    text,
    body,
    credential: authorization?.replace(/^Bearer /, '') ?? (typeof apiKey === 'string' ? apiKey : undefined),
    hostHeader: req.headers[HOST_HEADER] as string | undefined,
    bill: undefined,
    status: 0,
    ended: undefined,
    failedByItself: false,
    reported: false,
    askedForUsage:
      language === 'anthropic' ||
      body.stream !== true ||
      (isObject(options) && options.include_usage === true),
  }
}

function apiOf(path: string): Api {
  return (Object.keys(PATHS) as Api[]).find((api) => path.endsWith(PATHS[api]))!
}

const DIMENSIONS = 8
const MANY_CALLS = 1_025
const LONG_CHUNK = 'word '.repeat(600)
const LONG_REPLY_TOKENS = 3_000
const WORDS_A_WRITE = 20

class Answer {
  private readonly language
  constructor(
    private readonly arrival: Arrival,
    private readonly plan: CallPlan,
    private readonly model: ModelPlan,
    private readonly route: RoutePlan,
    private readonly side: ProviderSide,
    private readonly res: ServerResponse,
    private readonly isClosed: () => boolean,
  ) {
    this.language = LANGUAGES[model.language]
  }

  async give(isFirst: boolean): Promise<void> {
    const { arrival, model, plan, side } = this
    const { body } = arrival
    const { kind, silentMs } = plan.reply
    await side.passes('before-first', arrival, '')
    if (silentMs > 0) await side.sleeps(silentMs)
    const isEmbedding = arrival.api === 'embeddings'
    const fits = isEmbedding || promptTokens(body, model) <= model.actual.contextLength
    if (this.isClosed()) {
      if (!fits || arrival.api === 'count') return
      if (isEmbedding) {
        arrival.bill = this.embeddingsBill()
        return
      }
      // It has read the prompt and continues thinking, as most do.
      arrival.bill = makeBill(body, model, this.output())
      return
    }
    if (!this.knowsCredential())
      return this.refuse(401, 'Incorrect API key provided.', 'invalid_request_error')
    if (!fits) {
      return this.refuse(400, "This model's maximum context length is exceeded.", 'invalid_request_error')
    }
    if (kind === 'refusal' || (kind === 'refusal-then-text' && isFirst)) {
      return this.refuse(400, plan.reply.quote, 'invalid_request_error')
    }
    if (isFirst && (kind === 'status-500' || kind === 'status-429')) {
      arrival.failedByItself = true
      return this.refuse(Number(kind.slice(-3)), 'It broke.', 'server_error')
    }
    if (arrival.api === 'count') this.count()
    else if (body.stream === true) await this.stream(isFirst)
    else await this.whole(isFirst)
  }

  /** Counting is free. */
  private count(): void {
    const { arrival, model, res } = this
    arrival.status = 200
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ input_tokens: promptTokens(arrival.body, model) }))
  }

  private embeddingsBill(): Bill {
    const { body } = this.arrival
    return makeBill(body, this.model, { completion: 0, thinking: 0 }, inputTokens(body, this.model))
  }

  /** One embedding for each text, as numbers. */
  private embeddings(bill: Bill | undefined): string {
    const { dimensions, input } = this.arrival.body
    const count = Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1
    const length = typeof dimensions === 'number' ? dimensions : DIMENSIONS
    const embedding = Array.from({ length }, (_, index) => (index + 1) / 1_000 - 0.0123456789)
    const data = Array.from({ length: count }, (_, index) => ({ object: 'embedding', index, embedding }))
    const usage = bill && { prompt_tokens: bill.prompt, total_tokens: bill.prompt }
    return JSON.stringify({ object: 'list', data, model: 'upstream-2026', ...(usage && { usage }) })
  }

  private knowsCredential(): boolean {
    const { credential, hostHeader } = this.arrival
    if (this.route.credential === 'none') return true
    if (this.route.credential === 'header') return hostHeader === HOST_KEY
    return credential === HOST_KEY || credential === OWN_KEY
  }

  private refuse(status: number, message: string, type: string): void {
    this.arrival.status = status
    this.res.writeHead(status, { 'content-type': 'application/json' })
    this.res.end(this.language.error(message, type))
  }

  private get choices(): number {
    const { n } = this.arrival.body
    return this.model.language === 'openai' && typeof n === 'number' && n >= 1 ? Math.min(n, 128) : 1
  }

  /** Output tokens of all choices, each as long as its limit allows. */
  private output(): { completion: number; thinking: number; seen: number } {
    const { model, plan } = this
    const { body } = this.arrival
    const { overruns, thinking, tokens } = plan.reply
    const bound = outputBound(body, model)
    const budget = thinkingBudget(body)
    const outside = model.actual.thinksOutside ? Math.min(thinking, budget) : 0
    const beyond = overruns ? thinking : 0
    const inside = model.actual.thinksOutside ? 0 : Math.min(thinking, bound)
    const seen = Math.min(tokens, bound - inside)
    const unseen = Math.max(outside, beyond) + inside
    return {
      completion: (seen + unseen) * this.choices + rejectedPrediction(body, model),
      thinking: unseen * this.choices,
      seen,
    }
  }

  private async stream(isFirst: boolean): Promise<void> {
    const { arrival, language, model, plan, side, res } = this
    const { kind, quote, usage } = plan.reply
    const { seen, ...output } = this.output()
    const bill = makeBill(arrival.body, model, output)
    arrival.bill = bill
    arrival.status = 200
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    await this.write(language.open(bill))
    const shown = Math.min(seen, 200)
    const isLong = plan.leaving === 'never-reads' && seen >= LONG_REPLY_TOKENS
    const words = isEmpty(kind) ? 0 : isLong ? LONG_REPLY_TOKENS : shown
    const middle = Math.floor(words / 2)
    for (let start = 0; start < words && !this.isClosed(); start += WORDS_A_WRITE) {
      const end = Math.min(start + WORDS_A_WRITE, words)
      let text = ''
      for (let index = start; index < end; index++) text += isLong ? LONG_CHUNK : `w${index} `
      for (let choice = 0; choice < this.choices; choice++) await this.write(language.text(text, choice))
      if (start <= middle && middle < end) await side.passes('mid', arrival, `w${middle} `)
    }
    if (isFirst && kind === 'cut-short') {
      arrival.failedByItself = true
      res.destroy()
      return
    }
    if (isFirst && kind === 'error-frame') {
      arrival.failedByItself = true
      await this.write(language.errorFrame(quote))
      res.end()
      return
    }
    await this.write(language.toolCalls(toolCallsFor(kind)))
    await this.write(language.finish(this.reason(kind), this.choices))
    await side.passes('with-last', arrival, words === 0 ? '' : `w${words - 1} `)
    arrival.reported = usage === 'asked-for' && arrival.askedForUsage
    await this.write(language.usage(arrival.reported ? bill : undefined))
    if (!this.isClosed()) await new Promise<void>((resolve) => res.end(resolve))
  }

  private async whole(isFirst: boolean): Promise<void> {
    const { arrival, language, model, plan, side, res } = this
    const { kind, quote, usage } = plan.reply
    const isEmbedding = arrival.api === 'embeddings'
    const { seen, ...output } = this.output()
    const bill = isEmbedding ? this.embeddingsBill() : makeBill(arrival.body, model, output)
    arrival.bill = bill
    arrival.status = 200
    arrival.reported = usage === 'asked-for'
    const isBroken = isFirst && (kind === 'cut-short' || kind === 'error-frame')
    if (isBroken) {
      arrival.failedByItself = true
      if (kind === 'error-frame') return this.refuse(500, quote, 'server_error')
    }
    const words = isEmpty(kind) ? 0 : Math.min(seen, 200)
    const content = Array.from({ length: words }, (_, index) => `w${index} `).join('')
    const reported = arrival.reported ? bill : undefined
    const reply: WholeReply = {
      texts: Array.from({ length: this.choices }, () => content),
      calls: toolCallsFor(kind),
      reason: this.reason(kind),
      bill: reported,
    }
    const body = isEmbedding ? this.embeddings(reported) : language.body(reply)
    const half = Math.floor(body.length / 2)
    res.writeHead(200, { 'content-type': 'application/json' })
    await this.write(body.slice(0, half))
    await side.passes('mid', arrival, '')
    if (isBroken) {
      res.destroy()
      return
    }
    await side.passes('with-last', arrival, '')
    if (!this.isClosed()) await new Promise<void>((resolve) => res.end(body.slice(half), resolve))
  }

  private reason(kind: ReplyKind): string {
    if (kind === 'malformed-call') return 'function_call_filter: MALFORMED_FUNCTION_CALL'
    return toolCallsFor(kind).length > 0 ? 'tool_calls' : 'stop'
  }

  /** Waits while the router does not read, until it has aborted. */
  private write(bytes: string): Promise<void> {
    const { res } = this
    if (this.isClosed() || bytes === '') return Promise.resolve()
    if (res.write(bytes)) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        res.off('drain', done)
        res.off('close', done)
        resolve()
      }
      res.on('drain', done)
      res.on('close', done)
    })
  }
}

function isEmpty(kind: ReplyKind): boolean {
  return kind === 'empty'
}

function toolCallsFor(kind: ReplyKind): readonly ToolCall[] {
  const name = 'get_weather'
  switch (kind) {
    case 'tools':
      return [{ name, arguments: '{"city":"Oslo"}' }]
    case 'many-calls':
      return Array.from({ length: MANY_CALLS }, () => ({ name, arguments: '{}' }))
    case 'nameless-call':
      return [{ arguments: '{}' }]
    case 'arguments-list':
      return [{ name, arguments: ['{}'] }]
    case 'arguments-number':
      return [{ name, arguments: 5 }]
    case 'arguments-deep':
      return [{ name, arguments: deep(200) }]
    default:
      return []
  }
}

function deep(levels: number): Json {
  let value: Json = 1
  for (let level = 0; level < levels; level++) value = { a: value }
  return value
}
