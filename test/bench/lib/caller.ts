import { connect, type Socket } from 'node:net'
import type { LoadRun } from './load-run.js'
import { ReplyReader } from './reply-reader.js'

const SLOW_READ_MS = 250
const RETRY_MS = 20
/** One for all sockets: the bytes of a read are consumed before the next read. */
const BUFFER = Buffer.alloc(65_536)

/** One connection that sends a request as soon as it has the reply to the last. */
export class Caller {
  isConnected = false
  isBusy = false
  #socket: Socket
  #isDestroyed = false
  #sentAt = 0
  #retry: NodeJS.Timeout | undefined
  readonly #reply = new ReplyReader()

  constructor(private readonly run: LoadRun) {
    this.#socket = this.#connect()
  }

  destroy(): void {
    this.#isDestroyed = true
    clearTimeout(this.#retry)
    this.#socket.destroy()
  }

  #connect(): Socket {
    const socket = connect({
      port: this.run.job.port,
      host: '127.0.0.1',
      noDelay: true,
      onread: { buffer: BUFFER, callback: (length) => this.#read(BUFFER.subarray(0, length)) },
    })
    socket.on('connect', () => {
      this.isConnected = true
      this.#send()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => this.#closed(socket))
    return socket
  }

  #send(): void {
    if (this.run.isEnding) return
    this.isBusy = true
    this.#reply.reset()
    this.#sentAt = performance.now()
    this.#socket.write(this.run.nextRequest())
  }

  /** Returns false if there is nothing more to read for now. */
  #read(bytes: Buffer): boolean {
    const { run } = this
    const before = this.#reply.events
    const isWhole = this.#reply.read(bytes)
    const brought = this.#reply.events - before
    run.events += brought
    if (before === 0 && brought > 0) run.firstEventMs.push(performance.now() - this.#sentAt)
    if (isWhole) this.#complete()
    else if (run.job.reader === 'leaves' && brought > 0) {
      this.isBusy = false
      run.replies++
      this.#socket.destroy()
    }
    if (run.job.reader !== 'slow') return true
    this.#retry = setTimeout(() => this.#socket.resume(), SLOW_READ_MS)
    return false
  }

  #complete(): void {
    const { run } = this
    const { status, events, isDone } = this.#reply
    const { expect } = run.job
    this.isBusy = false
    run.replies++
    run.replyMs.push(performance.now() - this.#sentAt)
    if (status !== expect.status) run.failed(`status ${status} instead of ${expect.status}`)
    else if (expect.events !== undefined && (events !== expect.events || !isDone)) {
      run.failed(`${events} events${isDone ? '' : ' without an end'} instead of ${expect.events}`)
    }
    this.#send()
  }

  #closed(socket: Socket): void {
    if (this.#isDestroyed || socket !== this.#socket) return
    if (this.isBusy) this.run.failed('the connection was closed in the middle of a reply')
    this.isBusy = false
    if (this.run.isEnding) return
    this.#retry = setTimeout(() => {
      this.#socket = this.#connect()
    }, RETRY_MS)
  }
}
