import { setTimeout as delay } from 'node:timers/promises'
import { toRequest } from './load-run.js'
import type { OpenJob, OpenResult, Tail } from './messages.js'
import { OpenConnection } from './open-connection.js'
import { cpuSecondsAt, familyOf } from './process-usage.js'
import { quantile } from './statistics.js'

const DRAIN_MS = 10_000
/** Beyond this number of arrivals without a connection, the system has fallen behind for good. */
const MOST_WAITING = 20_000

/**
 * Requests that arrive on a schedule and wait for no reply. The time of each counts from its arrival on the schedule, so
 * a pause of the system counts for every request that had to wait.
 */
export class OpenRun {
  readonly #request: Buffer
  readonly #idle: OpenConnection[] = []
  readonly #all = new Set<OpenConnection>()
  /** The arrivals that wait for a connection. */
  #waiting: number[] = []
  #waitingFrom = 0
  #busy = 0
  /** Only requests that arrive from here on count. */
  #countedFrom = Infinity
  readonly #replyMs: number[] = []
  readonly #firstEventMs: number[] = []
  #errors = 0
  #firstError: string | undefined

  constructor(readonly job: OpenJob) {
    const { token, body } = job.request
    this.#request = toRequest(job, token, body)
  }

  async result(): Promise<OpenResult> {
    const { job } = this
    try {
      await this.#arrive(job.warmMs)
      this.#countedFrom = performance.now()
      const before = this.#cpu()
      const arrived = await this.#arrive(job.measureMs)
      const after = this.#cpu()
      await this.#drain()
      return {
        arrived: arrived.count,
        seconds: arrived.seconds,
        replies: this.#replyMs.length,
        errors: this.#errors,
        ...(this.#firstError !== undefined && { firstError: this.#firstError }),
        routerCpuSeconds: after.router - before.router,
        databaseCpuSeconds: after.database - before.database,
        replyMs: tailOf(this.#replyMs),
        firstEventMs: tailOf(this.#firstEventMs),
      }
    } finally {
      for (const connection of this.#all) connection.destroy()
    }
  }

  /** Called by a connection when its reply is complete. `arrivedAt` is the time on the schedule. */
  ended(connection: OpenConnection, arrivedAt: number, error: string | undefined): void {
    this.#busy--
    if (arrivedAt >= this.#countedFrom) this.#replyMs.push(performance.now() - arrivedAt)
    if (error !== undefined) this.failed(error)
    const next = this.#waiting[this.#waitingFrom]
    if (next === undefined) {
      this.#idle.push(connection)
      return
    }
    this.#waitingFrom++
    if (this.#waitingFrom === this.#waiting.length) {
      this.#waiting = []
      this.#waitingFrom = 0
    }
    this.#send(connection, next)
  }

  firstEvent(arrivedAt: number): void {
    if (arrivedAt >= this.#countedFrom) this.#firstEventMs.push(performance.now() - arrivedAt)
  }

  lost(connection: OpenConnection, wasBusy: boolean): void {
    this.#all.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    if (!wasBusy) return
    this.#busy--
    this.failed('the connection was closed in the middle of a reply')
  }

  failed(error: string): void {
    this.#errors++
    this.#firstError ??= error
  }

  /** Sends at the rate of the job. Looks at the clock in every turn, since timers are late by a millisecond. */
  async #arrive(forMs: number): Promise<{ count: number; seconds: number }> {
    const everyMs = 1_000 / this.job.rate
    const from = performance.now()
    let count = 0
    while (performance.now() - from < forMs) {
      const now = performance.now()
      for (let at = from + count * everyMs; at <= now; at = from + count * everyMs) {
        this.#accept(at)
        count++
      }
      if (this.#waiting.length - this.#waitingFrom > MOST_WAITING) break
      await new Promise(setImmediate)
    }
    return { count, seconds: (performance.now() - from) / 1_000 }
  }

  #accept(arrivedAt: number): void {
    const connection = this.#idle.pop() ?? this.#open()
    if (connection === undefined) this.#waiting.push(arrivedAt)
    else this.#send(connection, arrivedAt)
  }

  #open(): OpenConnection | undefined {
    if (this.#all.size >= this.job.connections) return undefined
    const connection = new OpenConnection(this)
    this.#all.add(connection)
    return connection
  }

  #send(connection: OpenConnection, arrivedAt: number): void {
    this.#busy++
    connection.send(this.#request, arrivedAt)
  }

  async #drain(): Promise<void> {
    const until = performance.now() + DRAIN_MS
    while (this.#busy > 0 || this.#waitingFrom < this.#waiting.length) {
      if (performance.now() > until) {
        this.failed(`${this.#busy} replies did not end within ${DRAIN_MS} ms`)
        return
      }
      await delay(1)
    }
  }

  #cpu(): { router: number; database: number } {
    const { processId, serverId } = this.job
    return {
      router: cpuSecondsAt(`/proc/${processId}`),
      database: serverId === undefined ? 0 : sum(familyOf(serverId)),
    }
  }
}

function sum(folders: readonly string[]): number {
  let total = 0
  for (const folder of folders) {
    const seconds = cpuSecondsAt(folder)
    if (!Number.isNaN(seconds)) total += seconds
  }
  return total
}

function tailOf(values: readonly number[]): Tail {
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99), p999: quantile(values, 0.999) }
}
