import { connect, type Socket } from 'node:net'
import type { OpenRun } from './open-run.js'
import { ReplyReader } from './reply-reader.js'

/** One for all sockets: the bytes of a read are consumed before the next read. */
const BUFFER = Buffer.alloc(65_536)

/** One connection that sends a request when it is given one, and reads one reply. */
export class OpenConnection {
  #arrivedAt = 0
  #isBusy = false
  #isDestroyed = false
  readonly #socket: Socket
  readonly #reply = new ReplyReader()

  constructor(private readonly run: OpenRun) {
    this.#socket = connect({
      port: run.job.port,
      host: '127.0.0.1',
      noDelay: true,
      onread: { buffer: BUFFER, callback: (length) => this.#read(BUFFER.subarray(0, length)) },
    })
    this.#socket.on('error', () => undefined)
    this.#socket.on('close', () => {
      if (!this.#isDestroyed) run.lost(this, this.#isBusy)
    })
  }

  send(request: Buffer, arrivedAt: number): void {
    this.#isBusy = true
    this.#arrivedAt = arrivedAt
    this.#reply.reset()
    this.#socket.write(request)
  }

  destroy(): void {
    this.#isDestroyed = true
    this.#socket.destroy()
  }

  #read(bytes: Buffer): boolean {
    const before = this.#reply.events
    const isWhole = this.#reply.read(bytes)
    if (before === 0 && this.#reply.events > 0) this.run.firstEvent(this.#arrivedAt)
    if (isWhole) {
      this.#isBusy = false
      this.run.ended(this, this.#arrivedAt, this.#fault())
    }
    return true
  }

  #fault(): string | undefined {
    const { status, events, isDone } = this.#reply
    const { expect } = this.run.job
    if (status !== expect.status) return `status ${status} instead of ${expect.status}`
    if (expect.events === undefined || (events === expect.events && isDone)) return undefined
    return `${events} events${isDone ? '' : ' without an end'} instead of ${expect.events}`
  }
}
