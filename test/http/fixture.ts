import { once } from 'node:events'
import net from 'node:net'
import type { Clock } from '../../src/base/clock.js'
import { CompatError, isCompatError } from '../../src/base/errors.js'
import { MemoryBudget } from '../../src/base/memory-budget.js'
import { TurnGate } from '../../src/base/turn-gate.js'
import type { Endpoint } from '../../src/contracts/endpoint.js'
import type { IncomingCall, ReplyWriter } from '../../src/contracts/reply.js'
import { createHttpHandler, type HttpHandlerOptions } from '../../src/http/index.js'
import { DEFAULTS } from '../../src/options.js'
import { errorReply } from '../../src/protocol/error-body.js'
import { asWire, toWire } from '../../src/protocol/wire-bytes.js'
import type { SettingsOptions } from '../helpers/settings.js'

/** A stopped clock that the test moves. */
export class ManualClock implements Clock {
  readonly #timers = new Set<{ at: number; run: () => void }>()
  #now = 0

  now(): number {
    return this.#now
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  get pending(): number {
    return this.#timers.size
  }

  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      this.#timers.delete(due)
      this.#now = due.at
      due.run()
    }
    this.#now = end
  }
}

/** Returns its arguments as JSON. */
export async function echo(call: IncomingCall, writer: ReplyWriter): Promise<void> {
  try {
    const { value: body } = await call.readBody('alice')
    writer.send(200, {}, toWire(JSON.stringify({ body, requestId: call.requestId })))
  } catch (error) {
    refuse(writer, error)
  }
}

export function refuse(writer: ReplyWriter, error: unknown): void {
  const known = isCompatError(error) ? error : new CompatError('internal_error', `not expected: ${error}`)
  const { status, headers, body } = errorReply(known)
  writer.send(status, headers, body)
}

type Answer = Endpoint['answer']

/** An answer for each path that a router may have. Paths without one do not exist. */
export interface TestAnswers {
  chatCompletions?: Answer
  listModels?: Answer
  getModel?: Answer
  envelopeKeys?: Answer | undefined
  openapi?: Answer | undefined
}

const PLACES: readonly [keyof TestAnswers, Omit<Endpoint, 'answer'>][] = [
  ['chatCompletions', place('POST', '/chat/completions')],
  ['listModels', place('GET', '/models')],
  ['getModel', place('GET', '/models/{model_key}')],
  ['envelopeKeys', { ...place('GET', '/envelope-keys'), isPublic: true }],
  ['openapi', { ...place('GET', '/openapi.json'), isPublic: true }],
]

function place(method: Endpoint['method'], path: string): Omit<Endpoint, 'answer'> {
  return { method, path, openapi: { operation: { summary: path }, schemas: {} } }
}

export function testEndpoints(answers: TestAnswers): readonly Endpoint[] {
  return PLACES.flatMap(([name, at]) => {
    const answer = answers[name]
    return answer === undefined ? [] : [{ ...at, answer }]
  })
}

export interface TestHandler {
  handler: ReturnType<typeof createHttpHandler>
  clock: ManualClock
  faults: { where: string; error: unknown; requestId?: string }[]
  consumed: string[]
}

export function testHandler(
  answers: TestAnswers = {},
  options: Partial<Omit<HttpHandlerOptions, 'sizes' | 'timeouts'>> &
    Pick<SettingsOptions, 'sizes' | 'timeouts'> = {},
): TestHandler {
  const clock = new ManualClock()
  const faults: TestHandler['faults'] = []
  const consumed: string[] = []
  let ids = 0
  const handler = createHttpHandler(
    testEndpoints({
      chatCompletions: echo,
      listModels: async (call, writer) =>
        writer.send(200, {}, asWire(JSON.stringify({ list: call.requestId }))),
      getModel: async (_call, writer, key) => writer.send(200, {}, toWire(JSON.stringify({ key }))),
      envelopeKeys: async (_call, writer) => writer.send(200, {}, asWire('{"keys":[]}')),
      openapi: async (_call, writer) => writer.send(200, {}, asWire('{"openapi":"3.1.0"}')),
      ...answers,
    }),
    {
      clock,
      newId: () => `made-${++ids}`,
      turns: new TurnGate(true),
      fastPaths: { chunks: true, messages: true },
      isClosing: () => false,
      onFault: (where, error, requestId) => {
        faults.push(requestId === undefined ? { where, error } : { where, error, requestId })
      },
      onBodyConsumed: (requestId) => {
        consumed.push(requestId)
      },
      memory: new MemoryBudget(Infinity),
      ...options,
      timeouts: { ...DEFAULTS.timeouts, ...options.timeouts },
      sizes: { ...DEFAULTS.sizes, ...options.sizes },
    },
  )
  return { handler, clock, faults, consumed }
}

/** A bare connection, for requests that no well-behaved client sends. */
export class RawClient {
  received = ''
  closed = false
  readonly #waiting = new Set<() => void>()

  private constructor(readonly socket: net.Socket) {
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.received += text
      this.#look()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.closed = true
      this.#look()
    })
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = net.connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new RawClient(socket)
  }

  #look(): void {
    for (const look of this.#waiting) look()
  }

  /** Waits until the condition holds. Fails if the connection closes first. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (condition()) resolve()
        else if (this.closed)
          reject(new Error(`closed after ${JSON.stringify(this.received.slice(0, 2_000))}`))
        else return
        this.#waiting.delete(look)
      }
      this.#waiting.add(look)
      look()
    })
  }

  untilReceived(text: string): Promise<void> {
    return this.until(() => this.received.includes(text))
  }

  untilClosed(): Promise<void> {
    return this.until(() => this.closed)
  }

  write(text: string | Uint8Array): void {
    this.socket.write(text)
  }
}

export interface Deferred<T> {
  promise: Promise<T>
  resolve(value: T): void
}

export function deferred<T = void>(): Deferred<T> {
  let resolve!: (value: T) => void
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
