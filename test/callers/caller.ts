import http, { type IncomingMessage } from 'node:http'
import { isObject } from './json.js'

export interface CallerRequest {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** Sends half of the body and leaves. */
  readonly half: boolean
  /** Reads nothing of the reply. */
  readonly neverReads: boolean
}

/** Connections are reused, as by real clients. If a caller leaves on one, it is closed. */
const agent = new http.Agent({ keepAlive: true, maxSockets: 512 })

/** One call over a socket, by a caller that can leave at any moment. */
export class Caller {
  status: number | undefined
  text = ''
  headers: IncomingMessage['headers'] = {}
  hasLeft = false
  /** Settles when nothing more will arrive, and at once if the caller has left. */
  readonly over: Promise<void>
  private end = (): void => {}
  private readonly request: http.ClientRequest
  private readonly waiting = new Set<() => void>()
  private isOver = false

  constructor({ half, headers, neverReads, path, port, text }: CallerRequest) {
    const bytes = Buffer.from(text)
    this.over = new Promise((resolve) => {
      this.end = () => {
        this.isOver = true
        this.wake()
        resolve()
      }
    })
    this.request = http.request({
      agent: half || neverReads ? false : agent,
      host: '127.0.0.1',
      port,
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': bytes.length, ...headers },
    })
    this.request.on('error', () => this.end())
    this.request.on('close', () => this.end())
    if (neverReads) {
      this.request.on('socket', (socket) => socket.pause())
      this.request.on('response', (response) => response.pause())
    } else this.request.on('response', (response) => this.read(response))
    if (half) {
      this.request.write(bytes.subarray(0, bytes.length >> 1), () => this.leave())
    } else this.request.end(bytes)
  }

  /** Disconnects without notice. */
  leave(): void {
    if (this.isOver) return
    this.hasLeft = true
    this.request.destroy()
    this.end()
  }

  /** Waits until this has arrived, or nothing more will. */
  async receives(text: string): Promise<void> {
    while (!this.isOver && !this.text.includes(text)) {
      await new Promise<void>((resolve) => this.waiting.add(resolve))
    }
  }

  private read(response: IncomingMessage): void {
    this.status = response.statusCode
    this.headers = response.headers
    response.setEncoding('utf8')
    response.on('data', (text: string) => {
      this.text += text
      this.wake()
    })
    response.on('end', () => this.end())
    response.on('error', () => this.end())
  }

  private wake(): void {
    for (const resume of this.waiting) resume()
    this.waiting.clear()
  }
}

/** The cost in a reply, if there is one: in its body, its last chunk or its error frame. */
export function shownCost(text: string): number | undefined {
  const from = text.lastIndexOf('"cost":')
  if (from < 0) return undefined
  const found = /^"cost":([0-9.e+-]+)/.exec(text.slice(from))
  return found === null ? undefined : Number(found[1])
}

/** The content of a control reply, without its unique ids and times. */
export function comparable(text: string): string {
  return text
    .replace(/"(id|item_id)":"[^"]*"/g, '"$1":""')
    .replace(/"(created|created_at|completed_at)":\d+/g, '"$1":0')
}

export function errorCode(text: string): string {
  try {
    const body: unknown = JSON.parse(text)
    const error = isObject(body) ? body.error : undefined
    return isObject(error) ? `${error.code}: ${error.message}` : ''
  } catch {
    return ''
  }
}
