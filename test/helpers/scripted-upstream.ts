import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { CERTIFICATE } from './certificate.js'

/** A provider that follows a script byte by byte, on a real socket of 127.0.0.1. It has no timers. */
export interface ScriptedUpstream {
  /** `http://127.0.0.1:<port>/v1`, as an adapter's base URL. */
  readonly baseUrl: string
  /** Every request whose body has arrived completely, oldest first. */
  readonly requests: readonly ScriptedRequest[]
  /** How many connections have been opened so far. */
  readonly connections: number
  /** How many of them are open now. */
  readonly openConnections: number
  /** The next request that arrives after this call, including one that is already being read. */
  nextRequest(): Promise<ScriptedRequest>
  /**
   * Answers every request from now on with this script. Without one, requests are accepted and never
   * answered.
   */
  script(script: Script): void
  /** Answers one request each with these, in order, before using the standing script. */
  scriptOnce(...scripts: readonly Script[]): void
  /** Drops all connections and stops listening. */
  close(): Promise<void>
}

export interface ScriptedRequest {
  readonly method: string
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The parsed JSON body, or the text if it is not JSON. */
  readonly body: unknown
  readonly text: string
  /** Resolves when the connection of this request has been closed by the client, or broke. */
  readonly closed: Promise<void>
}

/**
 * Either steps, run in order, or a function that acts on the connection. The connection then accepts the next
 * request.
 */
export type Script =
  | readonly Step[]
  | ((reply: ScriptedReply, request: ScriptedRequest) => void | Promise<void>)

export type Step =
  /** Sends the status line and the headers. */
  | { readonly head: number; readonly headers?: Readonly<Record<string, string>> }
  /** Sends bytes of the body. A string is UTF-8. */
  | { readonly write: string | Uint8Array }
  /** Sends bytes unchanged, outside any framing. */
  | { readonly raw: string | Uint8Array }
  /** Waits for a promise of the test. */
  | { readonly wait: Promise<unknown> }
  /** Ends the body correctly. */
  | 'end'
  /** Closes the connection wherever it is (FIN). */
  | 'hang-up'
  /** Breaks the connection (RST). */
  | 'reset'
  /** Does nothing more until the client has closed the connection. */
  | 'stall'

/** One reply being written. */
export interface ScriptedReply {
  /**
   * Sends the head. The body is chunked, unless the headers contain a `content-length`, or `connection:
   * close`, which makes a body that ends with the connection.
   */
  head(status?: number, headers?: Readonly<Record<string, string>>): void
  /**
   * Sends bytes of the body. Resolves when the system has accepted them, which a client that does not read
   * delays, or when the connection is closed.
   */
  write(bytes: string | Uint8Array): Promise<void>
  raw(bytes: string | Uint8Array): Promise<void>
  end(): void
  hangUp(): void
  /** Closes the connection (FIN) without a TLS close_notify. */
  cutOff(): void
  reset(): void
  readonly closed: Promise<void>
  /** Whether the connection is still open. */
  readonly open: boolean
}

/**
 * Starts one. Close it at the end of the test. With TLS it has an untrusted certificate, which is accepted
 * only if `NODE_TLS_REJECT_UNAUTHORIZED` is 0 at the time of the connection.
 */
export async function startScriptedUpstream({ port = 0, tls = false } = {}): Promise<ScriptedUpstream> {
  const requests: ScriptedRequest[] = []
  const sockets = new Set<Socket>()
  const waiting: ((request: ScriptedRequest) => void)[] = []
  const queue: Script[] = []
  let standing: Script = ['stall']
  let connections = 0

  // Otherwise a reset would discard the bytes that the system delays in order to send them together with
  // more.
  const server = createServer({ noDelay: true }, (connection) => {
    const socket = tls ? new TLSSocket(connection, { ...CERTIFICATE, isServer: true }) : connection
    connections++
    sockets.add(socket)
    socket.on('error', () => {})
    const closed = new Promise<void>((resolve) => {
      socket.on('close', () => {
        sockets.delete(socket)
        resolve()
      })
    })
    serve(socket, closed, async (request) => {
      requests.push(request)
      for (const resolve of waiting.splice(0)) resolve(request)
      await perform(queue.shift() ?? standing, createReply(socket, connection, closed), request)
    }).catch((error) => socket.destroy(error))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')

  return {
    baseUrl: `${tls ? 'https' : 'http'}://127.0.0.1:${address.port}/v1`,
    requests,
    get connections() {
      return connections
    },
    get openConnections() {
      return sockets.size
    },
    nextRequest: () => new Promise((resolve) => waiting.push(resolve)),
    script(script) {
      standing = script
    },
    scriptOnce(...scripts) {
      queue.push(...scripts)
    },
    async close() {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await stopped
    },
  }
}

/** A script that answers with JSON. */
export function answerJson(
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Script {
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return [
    {
      head: status,
      headers: { 'content-type': 'application/json', 'content-length': String(bytes.length), ...headers },
    },
    { write: bytes },
    'end',
  ]
}

/** A script that answers with a complete stream: each event as JSON after `data: `, then `[DONE]`. */
export function answerEvents(events: readonly unknown[], { done = true } = {}): Script {
  return [
    { head: 200, headers: { 'content-type': 'text/event-stream' } },
    { write: sse(events) + (done ? 'data: [DONE]\n\n' : '') },
    'end',
  ]
}

/** Events as written in a stream. A string is used unchanged. */
export function sse(events: readonly unknown[]): string {
  return events
    .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    .join('')
}

/** A chunk of a streamed reply with some text. */
export function textChunk(content: string, more: Readonly<Record<string, unknown>> = {}): object {
  return chunk({ content }, null, more)
}

/** The chunk that ends a choice. */
export function finishChunk(reason = 'stop', more: Readonly<Record<string, unknown>> = {}): object {
  return chunk({}, reason, more)
}

function chunk(delta: object, finishReason: string | null, more: Readonly<Record<string, unknown>>): object {
  return {
    id: 'chatcmpl-upstream',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'upstream-model',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    ...more,
  }
}

async function perform(script: Script, reply: ScriptedReply, request: ScriptedRequest): Promise<void> {
  if (typeof script === 'function') {
    await script(reply, request)
    return
  }
  for (const step of script) {
    if (step === 'end') reply.end()
    else if (step === 'hang-up') reply.hangUp()
    else if (step === 'reset') reply.reset()
    else if (step === 'stall') await reply.closed
    else if ('head' in step) reply.head(step.head, step.headers)
    else if ('write' in step) await reply.write(step.write)
    else if ('raw' in step) await reply.raw(step.raw)
    else await step.wait
  }
}

function createReply(socket: Socket, connection: Socket, closed: Promise<void>): ScriptedReply {
  let framing: 'chunked' | 'length' | 'close' = 'close'
  const send = (bytes: string | Uint8Array) =>
    new Promise<void>((resolve) => {
      // Without this, a loop that keeps writing would never let the event loop notice that the connection is
      // closed.
      if (socket.destroyed) closed.then(resolve)
      else socket.write(bytes, () => resolve())
    })
  return {
    closed,
    get open() {
      return !socket.destroyed
    },
    head(status = 200, headers = {}) {
      const names = Object.keys(headers).map((name) => name.toLowerCase())
      const closes = Object.entries(headers).some(
        ([name, value]) => name.toLowerCase() === 'connection' && value.toLowerCase() === 'close',
      )
      framing = names.includes('content-length') ? 'length' : closes ? 'close' : 'chunked'
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      if (framing === 'chunked') lines.push('transfer-encoding: chunked\r\n')
      void send(`HTTP/1.1 ${status} Scripted\r\n${lines.join('')}\r\n`)
    },
    write(bytes) {
      if (framing !== 'chunked') return send(bytes)
      const piece = Buffer.from(bytes)
      if (piece.length === 0) return Promise.resolve()
      return send(
        Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
      )
    },
    raw: send,
    end() {
      if (framing === 'chunked') void send('0\r\n\r\n')
      if (framing === 'close') socket.end()
    },
    hangUp: () => socket.end(),
    reset() {
      connection.resetAndDestroy()
      socket.destroy()
    },
    cutOff: () => connection.end(),
  }
}

/** Reads requests from a connection, one at a time. Their bodies have a `content-length`, or are chunked. */
async function serve(
  socket: Socket,
  closed: Promise<void>,
  answer: (request: ScriptedRequest) => Promise<void>,
): Promise<void> {
  let buffered = Buffer.alloc(0)
  // Joined once all of a body is there: joined with each, a long body would take the square of its length.
  let pieces: Buffer[] = []
  let missing = 1
  let wake = () => {}
  socket.on('data', (bytes: Buffer) => {
    pieces.push(bytes)
    missing -= bytes.length
    if (missing <= 0) wake()
  })
  socket.on('close', () => wake())
  const more = (bytes = 1) =>
    new Promise<void>((resolve) => {
      missing = bytes
      wake = resolve
      if (socket.destroyed) resolve()
    })
  while (!socket.destroyed) {
    buffered = Buffer.concat([buffered, ...pieces])
    pieces = []
    const headEnd = buffered.indexOf('\r\n\r\n')
    if (headEnd < 0) {
      await more()
      continue
    }
    const [requestLine = '', ...headerLines] = buffered.toString('latin1', 0, headEnd).split('\r\n')
    const headers = Object.fromEntries(
      headerLines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const bodyStart = headEnd + 4
    const length =
      headers['transfer-encoding'] === 'chunked' ? undefined : Number(headers['content-length'] ?? 0)
    const body = readBody(buffered, bodyStart, length)
    if (body === undefined) {
      await more(length === undefined ? 1 : bodyStart + length - buffered.length)
      continue
    }
    const text = body.bytes.toString('utf8')
    buffered = buffered.subarray(body.end)
    const [method = '', path = ''] = requestLine.split(' ')
    await answer({ method, path, headers, text, body: parse(text), closed })
  }
}

/** Returns a body and the place after it, or undefined if it has not arrived completely. Without a length it is chunked. */
function readBody(
  buffered: Buffer,
  start: number,
  length: number | undefined,
): { readonly bytes: Buffer; readonly end: number } | undefined {
  if (length !== undefined) {
    const end = start + length
    return buffered.length < end ? undefined : { bytes: buffered.subarray(start, end), end }
  }
  const chunks: Buffer[] = []
  for (let at = start; ; ) {
    const lineEnd = buffered.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(buffered.toString('latin1', at, lineEnd), 16)
    const chunkEnd = lineEnd + 2 + size
    at = chunkEnd + 2
    if (buffered.length < at) return undefined
    if (size === 0) return { bytes: Buffer.concat(chunks), end: at }
    chunks.push(buffered.subarray(lineEnd + 2, chunkEnd))
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
