import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { modelOf } from './gemini.js'
import { apiOf, refusalOf, type StrictRefusal, type StrictRow } from './refusal.js'
import { bodyOf, type StrictReply, streamOf } from './replies.js'
import { isObject } from './shape.js'

export interface RecordedRequest {
  readonly row: StrictRow
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly text: string
  readonly refusal?: StrictRefusal
}

/** A reply, or what makes one for a request. */
export type ScriptedReply = StrictReply | ((request: RecordedRequest) => StrictReply)

const PREFIXES: Readonly<Record<StrictRow, string>> = {
  openai: '/openai/v1',
  anthropic: '/anthropic/v1',
  gemini: '/gemini/v1beta',
  'gemini-chat': '/gemini-chat/v1beta/openai',
  deepseek: '/deepseek/v1',
  groq: '/groq/openai/v1',
  mistral: '/mistral/v1',
}

/** The strict APIs of all vendors on one real socket of 127.0.0.1. */
export class StrictUpstream {
  readonly requests: RecordedRequest[] = []
  private readonly scripts = new Map<StrictRow, ScriptedReply[]>()
  private replies = 0

  private constructor(
    private readonly server: Server,
    private readonly origin: string,
  ) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.answer(request, response).catch((error: Error) => response.destroy(error))
    })
  }

  static async start(): Promise<StrictUpstream> {
    // A busy machine must not make it close a connection on which a request is being sent.
    const server = createServer({ keepAliveTimeout: 600_000 })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('The server has no port.')
    return new StrictUpstream(server, `http://127.0.0.1:${address.port}`)
  }

  /** Where the API of a row is, as a client or an adapter takes it. Anthropic's own client adds `/v1` itself. */
  baseUrl(row: StrictRow): string {
    return this.origin + PREFIXES[row]
  }

  /** Answers what a row accepts with these in turn, and from then on with the last one. */
  script(row: StrictRow, ...replies: readonly ScriptedReply[]): void {
    this.scripts.set(row, [...replies])
  }

  /** Drops all connections and stops listening. */
  async close(): Promise<void> {
    const closed = once(this.server, 'close')
    this.server.close()
    this.server.closeAllConnections()
    await closed
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = Buffer.concat(await request.toArray()).toString('utf8')
    const { url: path = '' } = request
    const row = (Object.keys(PREFIXES) as StrictRow[]).find((name) => path.startsWith(`${PREFIXES[name]}/`))
    if (row === undefined) {
      send(response, 404, { error: { message: `Invalid URL (${path})` } })
      return
    }
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    )
    const body = parsed(text)
    const refusal = refusalOf(row, { path, headers, body })
    const recorded = { row, path, headers, body, text, ...(refusal === undefined ? {} : { refusal }) }
    this.requests.push(recorded)
    if (refusal === undefined) this.reply(recorded, response)
    else send(response, refusal.status, refusal.body)
  }

  private reply(recorded: RecordedRequest, response: ServerResponse): void {
    const { body, path, row } = recorded
    const api = apiOf(path)
    if (api === undefined || !isObject(body)) throw new Error(`${path} was accepted.`)
    if (/count_?tokens/i.test(path)) {
      send(response, 200, api === 'messages' ? { input_tokens: 11 } : { totalTokens: 11 })
      return
    }
    const script = this.scripts.get(row)
    const scripted = (script !== undefined && script.length > 1 ? script.shift() : script?.[0]) ?? {
      text: 'Hello',
    }
    const reply = typeof scripted === 'function' ? scripted(recorded) : scripted
    const asked = {
      row,
      n: ++this.replies,
      model: api === 'gemini' ? modelOf(path) : String(body.model),
    }
    const isStream = api === 'gemini' ? path.includes(':streamGenerateContent') : body.stream === true
    if (!isStream || (reply.raw !== undefined && reply.raw.events === undefined)) {
      send(response, reply.raw?.status ?? 200, bodyOf(api, reply, asked))
      return
    }
    const { stream_options: options } = body
    const asksUsage = isObject(options) && options.include_usage === true
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(streamOf(api, reply, asked, asksUsage))
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
