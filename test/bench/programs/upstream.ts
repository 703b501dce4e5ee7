/**
 * A stand-in for a provider: an OpenAI-shaped server on plain sockets, as cheap as possible, with prepared
 * replies. The prompt contains the reply to send (`lib/chat-body.ts`).
 */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { ANSWER_MARK } from '../lib/chat-body.js'
import { serve } from '../lib/serve.js'

const ID = 'chatcmpl-BenchBenchBenchBenchBench1'
const MODEL = 'gpt-4o-mini-2024-07-18'
const WORDS = [
  ' the',
  ' quick',
  ' brown',
  ' naïve',
  ' 漢字',
  ' "usage"',
  ' \\n',
  ' fox',
  ' 🙂',
  ' jumps',
  ' lazy',
]
const LONGEST_SPLIT_REPLY = 20_000

const completion = {
  id: ID,
  object: 'chat.completion',
  created: 1_763_700_000,
  model: MODEL,
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'The quick brown fox says "good morning" to a naïve dog, 漢字 and all.',
        refusal: null,
        annotations: [],
      },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: 19,
    completion_tokens: 21,
    total_tokens: 40,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  },
  service_tier: 'default',
  system_fingerprint: 'fp_bench',
}
const COMPLETION = jsonReply(200, completion)
const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n'

function jsonReply(status: number, value: object): Buffer {
  const body = JSON.stringify(value)
  return Buffer.from(
    `HTTP/1.1 ${status} Bench\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

interface StreamReply {
  readonly whole: Buffer
  /** The same, event by event. */
  readonly parts: readonly Buffer[]
}

const streams = new Map<number, StreamReply>()

function streamReply(events: number): StreamReply {
  const known = streams.get(events)
  if (known !== undefined) return known
  const common = {
    id: ID,
    object: 'chat.completion.chunk',
    created: 1_763_700_000,
    model: MODEL,
    service_tier: 'default',
    system_fingerprint: 'fp_bench',
  }
  const chunk = (delta: object, finish_reason: string | null): Buffer =>
    frame({ ...common, choices: [{ index: 0, delta, logprobs: null, finish_reason }], usage: null })
  const parts: Buffer[] = []
  for (let event = 0; event < events; event++) {
    const content = WORDS[event % WORDS.length]
    parts.push(chunk(event === 0 ? { role: 'assistant', content: '' } : { content }, null))
  }
  const usage = { prompt_tokens: 19, completion_tokens: events, total_tokens: 19 + events }
  parts.push(chunk({}, 'stop'), frame({ ...common, choices: [], usage }))
  parts.push(Buffer.concat([frame('[DONE]'), Buffer.from('0\r\n\r\n')]))
  parts[0] = Buffer.concat([Buffer.from(STREAM_HEAD), parts[0]!])
  const reply = { whole: Buffer.concat(parts), parts: events > LONGEST_SPLIT_REPLY ? [] : parts }
  streams.set(events, reply)
  return reply
}

function frame(value: object | string): Buffer {
  const event = Buffer.from(`data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`)
  return Buffer.concat([Buffer.from(`${event.length.toString(16)}\r\n`), event, Buffer.from('\r\n')])
}

function answer(socket: Socket, body: Buffer): void {
  const start = body.lastIndexOf(ANSWER_MARK) + ANSWER_MARK.length
  const [events, paceMs, segments, status] = body
    .toString('latin1', start, body.indexOf(';', start))
    .split(',')
    .map(Number) as [number, number, number, number]
  if (status > 0) socket.write(jsonReply(status, { error: { message: 'bench', type: 'server_error' } }))
  else if (events === 0) socket.write(COMPLETION)
  else if (paceMs > 0) sendPaced(socket, streamReply(events).parts, paceMs)
  else if (segments > 0) sendSegments(socket, streamReply(events).parts)
  else socket.write(streamReply(events).whole)
}

function sendPaced(socket: Socket, parts: readonly Buffer[], paceMs: number): void {
  let next = 0
  const send = (): void => {
    if (socket.destroyed) return
    socket.write(parts[next++]!)
    if (next < parts.length) setTimeout(send, paceMs)
  }
  send()
}

function sendSegments(socket: Socket, parts: readonly Buffer[]): void {
  let next = 0
  const send = (): void => {
    if (socket.destroyed) return
    const goesOn = socket.write(parts[next++]!)
    if (next === parts.length) return
    if (goesOn) setImmediate(send)
    else socket.once('drain', send)
  }
  send()
}

const server = createServer({ noDelay: true }, (socket) => {
  let waiting: Buffer | undefined
  socket.on('error', () => socket.destroy())
  socket.on('data', (bytes) => {
    waiting = waiting === undefined ? bytes : Buffer.concat([waiting, bytes])
    while (waiting !== undefined) {
      const length = requestLength(waiting)
      if (length === undefined) return
      const request: Buffer = waiting.subarray(0, length)
      waiting = waiting.length > length ? waiting.subarray(length) : undefined
      answer(socket, request)
    }
  })
})

/** Undefined if the request is incomplete. */
function requestLength(bytes: Buffer): number | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = bytes.toString('latin1', 0, headEnd)
  const bodyBytes = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (bodyBytes !== undefined) {
    const length = headEnd + 4 + Number(bodyBytes)
    return bytes.length < length ? undefined : length
  }
  const end = bytes.indexOf('\r\n0\r\n\r\n', headEnd)
  return end < 0 ? undefined : end + 7
}

server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  serve({ port: (server.address() as AddressInfo).port }, () => undefined)
})
