import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'

export interface ChatPost {
  readonly url: string
  readonly body: object
  readonly headers?: Readonly<Record<string, string>>
}

/** One chat completion over a socket of its own, by a client that can leave at any moment. */
export class ChatClient {
  /** The body received so far. */
  text = ''
  status: number | undefined
  headers: IncomingHttpHeaders = {}
  /** The reply ended as its framing announced. */
  complete = false
  /** Settles when nothing more will arrive: after the end, a broken connection, or leaving. */
  readonly over: Promise<void>
  private isOver = false
  private readonly request: http.ClientRequest
  private readonly waiting = new Set<() => void>()

  constructor({ url, body, headers = {} }: ChatPost) {
    const bytes = Buffer.from(JSON.stringify(body))
    this.request = http.request(url, {
      agent: false,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': bytes.length, ...headers },
    })
    this.over = new Promise((resolve) => {
      const ended = (): void => {
        this.isOver = true
        this.wake()
        resolve()
      }
      this.request.on('error', ended)
      this.request.on('close', ended)
    })
    this.request.on('response', (response) => this.read(response))
    this.request.end(bytes)
  }

  /** Waits until this has arrived. Rejects if the reply ends without it. */
  async receives(what: string): Promise<void> {
    await this.until(() => this.text.includes(what), what)
  }

  /** Waits for the status line and the headers. */
  async answers(): Promise<void> {
    await this.until(() => this.status !== undefined, 'a status')
  }

  /** Disconnects without notice. */
  leave(): void {
    this.request.destroy()
  }

  /** Stops reading, and stays connected. */
  pause(): void {
    this.request.socket?.pause()
  }

  private read(response: IncomingMessage): void {
    this.status = response.statusCode
    this.headers = response.headers
    response.setEncoding('utf8')
    response.on('data', (text: string) => {
      this.text += text
      this.wake()
    })
    response.on('end', () => {
      this.complete = response.complete
    })
    response.on('error', () => {})
    this.wake()
  }

  private async until(holds: () => boolean, what: string): Promise<void> {
    while (!holds()) {
      if (this.isOver) throw new Error(`The reply ended without ${what}: ${this.status} ${this.text}`)
      await new Promise<void>((resolve) => this.waiting.add(resolve))
    }
  }

  private wake(): void {
    for (const resume of this.waiting) resume()
    this.waiting.clear()
  }
}
