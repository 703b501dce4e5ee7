import type { ScriptedReply, ScriptedRequest, ScriptedUpstream } from '../helpers/scripted-upstream.js'
import { finishChunk, sse, startScriptedUpstream, textChunk } from '../helpers/scripted-upstream.js'
import type { LeavingPoint, ReplyPlan, Spelling } from './scenarios.js'
import type { Upstream } from './target.js'
import { NOTHING, type Usage } from './usage.js'

/** 93 tokens of `o200k_base`. The provider bills 7 more for the template, as OpenAI does. */
export const PROMPT = [
  'You help people who read the books of a small company. Answer in plain words. The company sells bread, tea and',
  'garden tools in two towns near the sea. Last year it opened a third shop, which closed again after a wet summer.',
  'Explain to its new owner why the cash in the till and the sums in the ledger can differ at the end of a day, who is',
  'told first, by whom, and what to write down before anybody goes home.',
].join(' ')
export const PROMPT_TOKENS = 100
export const COMPLETION_TOKENS = 100
const CHUNKS = 10
const CHUNK_TOKENS = COMPLETION_TOKENS / CHUNKS
/** Four bytes per token, the most common estimate. */
const CHUNK = 'one '.repeat(CHUNK_TOKENS)
/** The number of chunks before a provider dies or truncates. */
const BROKEN_AFTER = 4
const LATE_MS = 300

/** One request that arrived, and its bill. */
export interface Arrival {
  billed: Usage
  /** The last usage that it reported while the gateway was connected. */
  reported: Usage | undefined
  sentText: string
  ended: 'answered' | 'left' | 'failed' | undefined
}

/** Called at a point of a reply, with the end of its connection. The reply goes on when it has settled. */
type Hook = (point: LeavingPoint, gatewayLeft: Promise<void>) => Promise<void>

/** A provider with books of its own. It follows one plan at a time. */
export class BookedProvider implements Upstream {
  readonly book: Arrival[] = []
  private reply: ReplyPlan | undefined
  private hook: Hook = async () => undefined
  private readonly waiting = new Set<() => void>()

  private constructor(private readonly upstream: ScriptedUpstream) {
    upstream.script((reply, request) => this.serve(reply, request))
  }

  /** Listens on a free port if it is 0. */
  static async start(port = 0): Promise<BookedProvider> {
    return new BookedProvider(await startScriptedUpstream({ port }))
  }

  get baseUrl(): string {
    return this.upstream.baseUrl
  }

  get port(): number {
    return Number(new URL(this.baseUrl).port)
  }

  /** Follows this plan from now on, with an empty book. */
  follow(reply: ReplyPlan, hook: Hook = async () => undefined): void {
    this.book.length = 0
    this.reply = reply
    this.hook = hook
  }

  /** Waits until this is true of the book. It is tested whenever an entry has changed. */
  async until(holds: (book: readonly Arrival[]) => boolean): Promise<void> {
    while (!holds(this.book)) await new Promise<void>((resolve) => this.waiting.add(resolve))
  }

  close(): Promise<void> {
    return this.upstream.close()
  }

  private changed(): void {
    for (const resume of this.waiting) resume()
    this.waiting.clear()
  }

  private async serve(reply: ScriptedReply, { body, path }: ScriptedRequest): Promise<void> {
    const plan = this.reply
    if (plan === undefined || !path.endsWith('/chat/completions')) {
      await answer(reply, 404, JSON.stringify({ error: { message: 'No such path.' } }))
      return
    }
    const arrival: Arrival = { billed: NOTHING, reported: undefined, sentText: '', ended: undefined }
    this.book.push(arrival)
    this.changed()
    const request = body as { stream?: boolean; stream_options?: { include_usage?: boolean } }
    await this.hook('before the first token', reply.closed)
    if (request.stream === true) {
      const reports = plan.usage !== 'asked' || request.stream_options?.include_usage === true
      await this.stream(reply, plan, arrival, reports)
    } else await this.whole(reply, plan, arrival)
    arrival.ended ??= 'answered'
    this.changed()
  }

  private async stream(
    reply: ScriptedReply,
    plan: ReplyPlan,
    arrival: Arrival,
    reports: boolean,
  ): Promise<void> {
    const { cached, ending, spelling, usage } = plan
    const eachChunk = usage === 'each-chunk'
    const send = async (chunk: object, report?: Usage): Promise<void> => {
      const sent = report === undefined ? chunk : { ...chunk, usage: spell(report, spelling) }
      await reply.write(sse([sent]))
      if (report !== undefined && reply.open) arrival.reported = report
    }
    if (this.hasLeft(reply, arrival, cached, 0)) return
    reply.head(200, { 'content-type': 'text/event-stream' })
    await send(textChunk('', { model: MODEL }))
    for (let index = 0; index < CHUNKS; index++) {
      if (this.hasLeft(reply, arrival, cached, index)) return
      if (ending !== 'whole' && index === BROKEN_AFTER) return this.fail(reply, ending, arrival)
      const soFar = usageOf(cached, (index + 1) * CHUNK_TOKENS)
      await send(textChunk(CHUNK, { model: MODEL }), eachChunk ? soFar : undefined)
      arrival.sentText += CHUNK
      if (index === 0) await this.hook('early', reply.closed)
      if (index === CHUNKS - 1) await this.hook('late', reply.closed)
    }
    if (this.hasLeft(reply, arrival, cached, CHUNKS)) return
    arrival.billed = usageOf(cached, COMPLETION_TOKENS)
    await send(finishChunk('stop', { model: MODEL }), eachChunk ? arrival.billed : undefined)
    if (usage === 'late') {
      await reply.write(': the usage is still being counted\n\n')
      await new Promise((resolve) => setTimeout(resolve, LATE_MS))
    }
    if (reports && (usage === 'asked' || usage === 'late')) {
      await send({ ...textChunk('', { model: MODEL }), choices: [] }, arrival.billed)
    }
    await reply.write('data: [DONE]\n\n')
    reply.end()
  }

  private async whole(reply: ScriptedReply, plan: ReplyPlan, arrival: Arrival): Promise<void> {
    const { cached, ending, spelling, usage } = plan
    if (this.hasLeft(reply, arrival, cached, 0)) return
    const content = CHUNK.repeat(CHUNKS)
    const billed = usageOf(cached, COMPLETION_TOKENS)
    const text = JSON.stringify({
      id: 'chatcmpl-upstream',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: MODEL,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      ...(usage !== 'never' && { usage: spell(billed, spelling) }),
    })
    if (ending !== 'whole') {
      reply.head(200, { 'content-type': 'application/json' })
      await reply.write(text.slice(0, text.length / 2))
      return this.fail(reply, ending, arrival)
    }
    await answer(reply, 200, text)
    arrival.billed = billed
    arrival.sentText = content
    if (usage !== 'never' && reply.open) arrival.reported = billed
  }

  /** Whether the gateway has disconnected. The provider then bills the output so far. */
  private hasLeft(reply: ScriptedReply, arrival: Arrival, cached: number, chunks: number): boolean {
    if (reply.open) return false
    arrival.ended = 'left'
    arrival.billed = usageOf(cached, chunks * CHUNK_TOKENS)
    return true
  }

  /** Fails by itself, and bills nothing for it. */
  private fail(reply: ScriptedReply, ending: 'dies' | 'truncated', arrival: Arrival): void {
    arrival.ended = 'failed'
    if (ending === 'dies') reply.reset()
    else reply.end()
  }
}

const MODEL = 'gpt-4o'

function usageOf(cached: number, completion: number): Usage {
  return { prompt: PROMPT_TOKENS, cached, completion }
}

async function answer(reply: ScriptedReply, status: number, text: string): Promise<void> {
  reply.head(status, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
  })
  await reply.write(text)
}

/** Writes a usage as providers of OpenAI-compatible APIs do. */
export function spell({ cached, completion, prompt }: Usage, spelling: Spelling): object {
  const openai = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
  switch (spelling) {
    case 'openai':
      return { ...openai, prompt_tokens_details: { cached_tokens: cached } }
    case 'responses':
      return {
        input_tokens: prompt,
        input_tokens_details: { cached_tokens: cached },
        output_tokens: completion,
        total_tokens: prompt + completion,
      }
    case 'deepseek':
      return { ...openai, prompt_cache_hit_tokens: cached, prompt_cache_miss_tokens: prompt - cached }
    case 'moonshot':
      return { ...openai, cached_tokens: cached }
    case 'anthropic':
      return {
        input_tokens: prompt - cached,
        cache_read_input_tokens: cached,
        cache_creation_input_tokens: 0,
        output_tokens: completion,
      }
    case 'gemini':
      return { ...openai, cachedContentTokenCount: cached }
  }
}
