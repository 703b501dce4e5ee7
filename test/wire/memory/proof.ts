import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { ACCOUNTS } from './accounts.js'
import type { MemoryReport } from './router-process.js'

const MEBIBYTE = 1_024 * 1_024
const CALLS = 20
const ALTERNATIVES = 20
/** The least bytes of a write of the provider. */
const WRITE_BYTES = 64 * 1_024
/** The part of the budget that bodies which end together have. Each counts twice, and replies wait from three quarters on. */
const TOGETHER_SHARE = 3 / 10
/** Of a call that was refused before its body was sent, and whose refusal was lost with the connection. */
const CUT_OFF = 0

/** How large the calls are. */
export interface ProofSize {
  readonly memoryBytes: number
  /** The tokens of a reply with log probabilities. */
  readonly tokens: number
  /** The bytes of a long text in a request. */
  readonly textBytes: number
  /** The embeddings of a reply, and the numbers of each. */
  readonly embeddings: number
  readonly dimensions: number
}

/** The sizes of the command. */
export const FULL: ProofSize = {
  memoryBytes: 256 * MEBIBYTE,
  tokens: 20_000,
  textBytes: 20_000_000,
  embeddings: 2_048,
  dimensions: 3_072,
}
/** Those of the test. */
export const SHORT: ProofSize = {
  memoryBytes: 32 * MEBIBYTE,
  tokens: 1_000,
  textBytes: 2_000_000,
  embeddings: 128,
  dimensions: 1_536,
}

export interface Measured {
  readonly name: string
  /** How many calls were answered, and how many were refused for lack of room. */
  readonly answered: number
  readonly refused: number
  readonly aliveBytes: number
  readonly rssBytes: number
}

interface Kind {
  readonly name: string
  readonly path: string
  readonly body: (size: ProofSize) => object
  /** How the provider answers. */
  readonly reply: (size: ProofSize) => Reply
  /** Whether the provider ends all replies at once. */
  readonly endsTogether?: true
}

interface Reply {
  readonly type: string
  /** The number of pieces between the first and the last. */
  readonly count: number
  readonly first: string
  readonly piece: string
  readonly last: string
}

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const probability = {
  token: 'word',
  logprob: -1.2345,
  bytes: [119, 111, 114, 100],
  top_logprobs: Array.from({ length: ALTERNATIVES }, (_, index) => ({
    token: `word${index}`,
    logprob: -index - 0.25,
    bytes: [119, 111, 114, 100, 48 + index],
  })),
}
const messages = [{ role: 'user', content: 'Hi' }]
const longText = ({ textBytes }: ProofSize) => 'word '.repeat(textBytes / 5)

const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const chunk = (choice: object): string => event({ id: 'c', choices: [{ index: 0, ...choice }] })

function probabilityStream({ tokens }: ProofSize): Reply {
  return {
    type: 'text/event-stream',
    count: tokens,
    first: '',
    piece: chunk({ delta: { content: 'word ' }, logprobs: { content: [probability] } }),
    last: `${chunk({ delta: {}, finish_reason: 'stop' })}${event({ choices: [], usage: USAGE })}data: [DONE]\n\n`,
  }
}

function probabilityBody({ tokens }: ProofSize): Reply {
  const json = JSON.stringify(probability)
  return {
    type: 'application/json',
    count: tokens - 1,
    first: `{"id":"c","usage":${JSON.stringify(USAGE)},"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"word"},"logprobs":{"content":[${json}`,
    piece: `,${json}`,
    last: ']}}]}',
  }
}

/** Bodies of which twenty fit into the memory as text. */
function fittingBody(size: ProofSize): Reply {
  const tokens = (size.memoryBytes * TOGETHER_SHARE) / CALLS / JSON.stringify(probability).length
  return probabilityBody({ ...size, tokens: Math.floor(tokens) })
}

function shortReply(stream: boolean): Reply {
  const choice = { index: 0, finish_reason: 'stop' }
  return stream
    ? {
        type: 'text/event-stream',
        count: 1,
        first: '',
        piece: chunk({ delta: { content: 'Hello' } }),
        last: `${chunk({ delta: {}, finish_reason: 'stop' })}${event({ choices: [], usage: USAGE })}data: [DONE]\n\n`,
      }
    : {
        type: 'application/json',
        count: 0,
        first: JSON.stringify({
          id: 'c',
          usage: USAGE,
          choices: [{ ...choice, message: { role: 'assistant', content: 'Hello' } }],
        }),
        piece: '',
        last: '',
      }
}

/** A message of Claude: each token is a word, with a citation. */
function claudeReply({ tokens }: ProofSize, stream: boolean): Reply {
  const citation = { type: 'char_location', cited_text: 'word '.repeat(200), document_index: 0 }
  const usage = { input_tokens: 1, output_tokens: 1 }
  const top = { id: 'm', type: 'message', role: 'assistant', model: 'm', stop_reason: null, usage }
  if (!stream) {
    const block = JSON.stringify({ type: 'text', text: 'word', citations: [citation] })
    return {
      type: 'application/json',
      count: tokens - 1,
      first: `${JSON.stringify({ ...top, stop_reason: 'end_turn' }).slice(0, -1)},"content":[${block}`,
      piece: `,${block}`,
      last: ']}',
    }
  }
  return {
    type: 'text/event-stream',
    count: tokens,
    first: `${event({ type: 'message_start', message: { ...top, content: [] } })}${event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })}`,
    piece: event({ type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation } }),
    last: [
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ]
      .map(event)
      .join(''),
  }
}

function embeddingsReply({ dimensions, embeddings }: ProofSize, isBase64: boolean): Reply {
  const numbers = Array.from({ length: dimensions }, (_, index) => 0.012345678 + index / 1_000)
  const bytes = Buffer.from(Float32Array.from(numbers).buffer)
  const item = JSON.stringify({
    object: 'embedding',
    embedding: isBase64 ? bytes.toString('base64') : numbers,
  })
  return {
    type: 'application/json',
    count: embeddings - 1,
    first: `{"object":"list","usage":${JSON.stringify(USAGE)},"data":[${item}`,
    piece: `,${item}`,
    last: ']}',
  }
}

const streams = [true, false]
const named = (stream: boolean, what: string) => `${what}, ${stream ? 'streamed' : 'in one body'}`

/** The calls of each API that take the most memory. */
export const KINDS: readonly Kind[] = [
  ...streams.flatMap((stream): Kind[] => [
    {
      name: named(stream, 'a chat with log probabilities'),
      path: '/chat/completions',
      body: () => ({ model: 'chat', messages, stream, logprobs: true, top_logprobs: ALTERNATIVES }),
      reply: stream ? probabilityStream : probabilityBody,
    },
    {
      name: named(stream, 'a response with log probabilities'),
      path: '/responses',
      body: () => ({ model: 'chat', input: 'Hi', stream, top_logprobs: ALTERNATIVES, include: [] }),
      reply: stream ? probabilityStream : probabilityBody,
    },
    {
      name: named(stream, 'a response with long instructions'),
      path: '/responses',
      body: (size) => ({ model: 'chat', input: 'Hi', stream, instructions: longText(size) }),
      reply: () => shortReply(stream),
    },
    {
      name: named(stream, 'a chat with a long prompt'),
      path: '/chat/completions',
      body: (size) => ({ model: 'chat', messages: [{ role: 'user', content: longText(size) }], stream }),
      reply: () => shortReply(stream),
    },
    {
      name: named(stream, 'a message with citations'),
      path: '/messages',
      body: () => ({ model: 'claude', messages, max_tokens: 20_000, stream }),
      reply: (size) => claudeReply(size, stream),
    },
    {
      name: named(stream, 'a message with a long system prompt'),
      path: '/messages',
      body: (size) => ({ model: 'claude', messages, system: longText(size), max_tokens: 20_000, stream }),
      reply: (size) => claudeReply({ ...size, tokens: 1 }, stream),
    },
  ]),
  ...(['/chat/completions', '/responses'] as const).map(
    (path): Kind => ({
      name: `a call of ${path} with log probabilities, in bodies that end together`,
      path,
      body: () => ({ model: 'chat', ...(path === '/responses' ? { input: 'Hi' } : { messages }) }),
      reply: fittingBody,
      endsTogether: true,
    }),
  ),
  ...(['numbers', 'base64'] as const).map(
    (form): Kind => ({
      name: `many embeddings, as ${form}`,
      path: '/embeddings',
      body: ({ dimensions, embeddings }) => ({
        model: 'chat',
        dimensions,
        input: Array.from({ length: embeddings }, () => 'word'),
      }),
      reply: (size) => embeddingsReply(size, form === 'base64'),
    }),
  ),
]

/**
 * Sends twenty calls of each kind at once, from several accounts, and measures the memory that is alive meanwhile. With a
 * `name`, only of kinds whose name contains it.
 */
export async function proveMemory(
  size: ProofSize,
  onMeasured: (measured: Measured) => void = () => {},
  name = '',
): Promise<readonly Measured[]> {
  let reply = shortReply(false)
  let begin = new Gate()
  let end = new Gate()
  const provider = http.createServer(async (req, res) => {
    const gates = { begin, end }
    req.resume()
    await once(req, 'end')
    await gates.begin.pass()
    await answer(res, reply, gates.end)
  })
  // A connection that is closed while a call is sent on it would be a failed call.
  provider.keepAliveTimeout = 0
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  const { port } = provider.address() as AddressInfo
  const script = fileURLToPath(new URL('router-process.ts', import.meta.url))
  const child = fork(script, [`http://127.0.0.1:${port}`, String(size.memoryBytes)], {
    execArgv: ['--expose-gc', '--import', 'tsx'],
  })
  const measured: Measured[] = []
  try {
    const { port: routerPort } = await nextReport(child)
    for (const kind of KINDS.filter((one) => one.name.includes(name))) {
      const body = Buffer.from(JSON.stringify(kind.body(size)))
      reply = kind.reply(size)
      // One call by itself, so that what is compiled and cached by it counts as idle.
      begin = new Gate()
      end = new Gate()
      await statusOf(routerPort, kind.path, body, 0)
      await report(child)
      begin = new Gate(Infinity)
      if (kind.endsTogether) end = new Gate(Infinity)
      const calls = Array.from({ length: CALLS }, (_, number) =>
        statusOf(routerPort, kind.path, body, number),
      )
      // No call is answered before all were sent, so that they are in memory together.
      end.open(await untilAsked(provider, calls))
      begin.open(0)
      const statuses = await Promise.all(calls)
      const { aliveBytes, rssBytes } = await report(child)
      const answered = statuses.filter((status) => status === 200).length
      const refused = statuses.filter((status) => [CUT_OFF, 429, 503].includes(status)).length
      const one = { name: kind.name, answered, refused, aliveBytes, rssBytes }
      measured.push(one)
      onMeasured(one)
    }
    return measured
  } finally {
    child.disconnect()
    await once(child, 'exit')
    provider.closeAllConnections()
    provider.close()
  }
}

/** Lets everybody pass once a number of them have come. */
class Gate {
  private came = 0
  private readonly waiting: (() => void)[] = []

  constructor(private needed = 0) {}

  async pass(): Promise<void> {
    this.came++
    if (this.came < this.needed) await new Promise<void>((resolve) => this.waiting.push(resolve))
    else this.open(0)
  }

  /** Sets the number, and lets everybody pass if as many have come. */
  open(needed: number): void {
    this.needed = needed
    if (this.came >= needed) for (const resolve of this.waiting.splice(0)) resolve()
  }
}

/** Settles when every call was refused or has reached the provider. Returns how many have reached it. */
async function untilAsked(provider: http.Server, calls: readonly Promise<number>[]): Promise<number> {
  let open = calls.length
  let asked = 0
  let onRequest = (_req: IncomingMessage): void => {}
  await new Promise<void>((resolve) => {
    const one = (): void => {
      open--
      if (open === 0) resolve()
    }
    onRequest = (req) => {
      asked++
      req.once('end', one)
    }
    provider.on('request', onRequest)
    for (const call of calls) {
      void call.then((status) => {
        if (status !== 200) one()
      })
    }
  })
  provider.off('request', onRequest)
  return asked
}

async function answer(
  res: ServerResponse,
  { count, first, last, piece, type }: Reply,
  end: Gate,
): Promise<void> {
  res.writeHead(200, { 'content-type': type })
  res.write(first)
  const inOneWrite = Math.ceil(WRITE_BYTES / Math.max(piece.length, 1))
  for (let left = count; left > 0; left -= inOneWrite) {
    if (!res.write(piece.repeat(Math.min(left, inOneWrite)))) await once(res, 'drain')
  }
  await end.pass()
  res.end(last)
}

async function statusOf(port: number, path: string, body: Buffer, number: number): Promise<number> {
  const request = http.request(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer sk-${ACCOUNTS[number % ACCOUNTS.length]}`,
      'content-type': 'application/json',
      'content-length': body.length,
    },
  })
  request.end(body)
  const response = await new Promise<IncomingMessage | undefined>((resolve) => {
    request.on('response', resolve)
    // A refusal closes the connection while the rest of a long body is still being sent.
    request.on('error', () => resolve(undefined))
  })
  if (response === undefined) return CUT_OFF
  response.resume()
  await once(response, 'end')
  return response.statusCode ?? CUT_OFF
}

async function report(child: ChildProcess): Promise<MemoryReport> {
  child.send('report')
  return nextReport(child)
}

async function nextReport(child: ChildProcess): Promise<MemoryReport> {
  const [message] = (await once(child, 'message')) as [MemoryReport]
  return message
}
