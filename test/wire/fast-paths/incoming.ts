import type { Socket } from 'node:net'

const LINE_END = '\r\n'

/** The first line of an HTTP/1.1 message and its headers, with names in lower case. */
export interface Head {
  readonly first: string
  readonly headers: Readonly<Record<string, string>>
}

/** Reads messages from a connection. Throws if the connection ends too early. */
export class Incoming {
  #bytes = Buffer.alloc(0)
  #wake: () => void = () => undefined

  constructor(private readonly socket: Socket) {
    socket.on('data', (bytes: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes])
      this.#wake()
    })
    for (const event of ['end', 'close']) socket.on(event, () => this.#wake())
    socket.on('error', () => undefined)
  }

  /** Undefined if the connection ends before the next message. */
  async head(): Promise<Head | undefined> {
    if (!(await this.has(1))) return undefined
    const first = await this.#line()
    const headers: Record<string, string> = {}
    for (let line = await this.#line(); line !== ''; line = await this.#line()) {
      const colon = line.indexOf(':')
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
    }
    return { first, headers }
  }

  async body({ headers }: Head): Promise<Buffer> {
    if (headers['transfer-encoding'] !== 'chunked') return this.#take(Number(headers['content-length'] ?? 0))
    const chunks: Buffer[] = []
    for (;;) {
      const length = await this.#line()
      if (!/^[0-9a-f]+$/i.test(length)) throw new Error(`A chunk has the length ${JSON.stringify(length)}.`)
      chunks.push(await this.#take(Number.parseInt(length, 16)))
      const end = await this.#line()
      if (end !== '') throw new Error(`A chunk continues after its end with ${JSON.stringify(end)}.`)
      if (chunks.at(-1)!.length === 0) return Buffer.concat(chunks)
    }
  }

  /** Whether so many bytes have arrived or will arrive. */
  async has(count: number): Promise<boolean> {
    while (this.#bytes.length < count) {
      if (this.socket.readableEnded || this.socket.destroyed) return false
      await this.#more()
    }
    return true
  }

  get unread(): string {
    return this.#bytes.toString('latin1')
  }

  async #line(): Promise<string> {
    let end = this.#bytes.indexOf(LINE_END)
    for (; end < 0; end = this.#bytes.indexOf(LINE_END)) {
      if (!(await this.has(this.#bytes.length + 1))) throw new Error('The connection ended within a line.')
    }
    const line = this.#bytes.toString('latin1', 0, end)
    this.#bytes = this.#bytes.subarray(end + LINE_END.length)
    return line
  }

  async #take(count: number): Promise<Buffer> {
    if (!(await this.has(count))) throw new Error('The connection ended within a body.')
    const taken = this.#bytes.subarray(0, count)
    this.#bytes = this.#bytes.subarray(count)
    return taken
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}
