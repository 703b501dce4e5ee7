import { rawHeaders } from '../raw-headers.js'
import type {
  Connection,
  HeaderList,
  Receiver,
  Sender,
  SenderAbilities,
  SenderModule,
  SentRequest,
} from '../sender.js'

export const abilities: SenderAbilities = {
  limitsConnecting: false,
  sendsAgain: false,
  headerBytes: undefined,
  passesOnCompressed: false,
  skipsContinue: false,
}

/** Sends by the runtime's own `fetch`, which keeps its connections and opens them as it likes. */
export const openSender: SenderModule['openSender'] = (origin) =>
  ({
    dispatch(request, receiver) {
      const connection = new FetchConnection(receiver)
      request.onConnection(connection)
      void connection.send(origin, request)
      return true
    },
    async close() {},
  }) satisfies Sender

/** One call. */
class FetchConnection implements Connection {
  readonly isSending = false
  private readonly controller = new AbortController()
  private held: Promise<void> | undefined
  private resume: (() => void) | undefined

  constructor(private readonly receiver: Receiver) {}

  begin(): void {}

  drop(reason: Error): void {
    this.controller.abort(reason)
    this.release()
  }

  hold(): void {
    this.held ??= new Promise((resolve) => {
      this.resume = resolve
    })
  }

  release(): void {
    this.held = undefined
    this.resume?.()
  }

  /** Never rejects. */
  async send(origin: string, { path, method, headers, body }: SentRequest): Promise<void> {
    const { receiver } = this
    const { signal } = this.controller
    // `fetch` does not tell when it begins to send: from here on, the provider may have the request.
    receiver.onConnect((reason) => this.drop(reason ?? new Error('The call was aborted.')))
    try {
      const sent = { method, headers: pairsOf(headers), body, redirect: 'manual', signal } as const
      const response = await fetch(origin + path, sent)
      receiver.onHeaders(response.status, rawHeaders(withoutEncoding(response.headers)))
      if (response.body !== null) await this.read(response.body.getReader())
      receiver.onComplete()
    } catch (error) {
      receiver.onError(causeOf(error))
    }
  }

  private async read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      this.receiver.onData(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      if (this.held !== undefined) await this.held
    }
  }
}

function pairsOf(headers: HeaderList): [string, string][] {
  const pairs: [string, string][] = []
  for (let index = 0; index < headers.length; index += 2) pairs.push([headers[index]!, headers[index + 1]!])
  return pairs
}

/** `fetch` has decoded the body, but keeps the header. Encodings that it does not know are passed on. */
function withoutEncoding(headers: Headers): [string, string][] {
  const decoded = /^(?:x-)?gzip$|^deflate$|^br$/i
  return [...headers].filter(([name, value]) => name !== 'content-encoding' || !decoded.test(value))
}

/** Node's `fetch` wraps the error of the connection. */
function causeOf(error: unknown): Error {
  const { cause } = Object(error)
  if (cause instanceof Error) return cause
  return error instanceof Error ? error : new Error(String(error))
}
