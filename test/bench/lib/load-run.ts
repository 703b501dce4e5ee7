import { setTimeout as delay } from 'node:timers/promises'
import { Caller } from './caller.js'
import type { LoadJob, LoadResult } from './messages.js'
import { cpuSecondsOf } from './process-usage.js'
import { quantile } from './statistics.js'

const CONNECT_PATIENCE_MS = 30_000
const FINISH_PATIENCE_MS = 20_000

/** One job in progress: its callers, and their counts since measuring began. */
export class LoadRun {
  replies = 0
  events = 0
  errors = 0
  firstError: string | undefined
  replyMs: number[] = []
  firstEventMs: number[] = []
  isEnding = false
  #nextRequest = 0
  #warm = { replies: 0, events: 0 }
  readonly #requests: readonly Buffer[]
  readonly #callers: Caller[] = []

  constructor(readonly job: LoadJob) {
    this.#requests = job.requests.map(({ token, body }) => toRequest(job, token, body))
  }

  /** Requests in turn. */
  nextRequest(): Buffer {
    const request = this.#requests[this.#nextRequest]!
    this.#nextRequest = (this.#nextRequest + 1) % this.#requests.length
    return request
  }

  failed(error: string): void {
    this.errors++
    this.firstError ??= error
  }

  async result(): Promise<LoadResult> {
    const { job } = this
    try {
      await this.#connect()
      await delay(job.warmMs)
      this.#forget()
      const cpuBefore = cpuSecondsOf(job.processId)
      const from = performance.now()
      await delay(job.measureMs)
      const seconds = (performance.now() - from) / 1_000
      const cpuSeconds = cpuSecondsOf(job.processId) - cpuBefore
      const { replies, events, replyMs, firstEventMs } = this
      this.replyMs = []
      this.firstEventMs = []
      if (job.finish) await this.#finish()
      const { errors, firstError } = this
      return {
        seconds,
        replies,
        events,
        all: { replies: this.#warm.replies + this.replies, events: this.#warm.events + this.events },
        errors,
        ...(firstError !== undefined && { firstError }),
        cpuSeconds,
        replyMs: summary(replyMs),
        firstEventMs: summary(firstEventMs),
      }
    } finally {
      for (const caller of this.#callers) caller.destroy()
    }
  }

  async #connect(): Promise<void> {
    const { connections, rampMs } = this.job
    for (let number = 0; number < connections; number++) {
      if (rampMs > 0) await delay(rampMs / connections)
      this.#callers.push(new Caller(this))
    }
    const until = performance.now() + CONNECT_PATIENCE_MS
    while (!this.#callers.every((caller) => caller.isConnected)) {
      if (performance.now() > until) throw new Error(`cannot connect to port ${this.job.port}`)
      await delay(1)
    }
  }

  /** Counts from here on. Errors count from the start. */
  #forget(): void {
    this.#warm = { replies: this.replies, events: this.events }
    this.replies = 0
    this.events = 0
    this.replyMs = []
    this.firstEventMs = []
  }

  async #finish(): Promise<void> {
    this.isEnding = true
    const until = performance.now() + FINISH_PATIENCE_MS
    while (this.#callers.some((caller) => caller.isBusy)) {
      if (performance.now() > until) {
        this.failed(`replies under way did not end within ${FINISH_PATIENCE_MS} ms`)
        return
      }
      await delay(1)
    }
  }
}

/** The bytes of a request. A header of the job replaces one of the same name. */
export function toRequest(
  job: Pick<LoadJob, 'port' | 'path' | 'headers'>,
  token: string,
  body: string,
): Buffer {
  const headers = {
    host: `127.0.0.1:${job.port}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${token}`,
    ...job.headers,
    'content-length': String(Buffer.byteLength(body)),
  }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`POST ${job.path} HTTP/1.1\r\n${head.join('')}\r\n${body}`)
}

function summary(values: readonly number[]): { p50: number; p99: number } {
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99) }
}
