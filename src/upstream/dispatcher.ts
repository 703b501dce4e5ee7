import type { Dispatcher } from 'undici/index.js'
import { z } from 'zod'
import { rawHeaders } from './raw-headers.js'
import type { Connection, Receiver, Sender, SentRequest } from './sender.js'

/** A `Dispatcher` of undici, whose types may come from another version than ours. */
export interface HostDispatcher {
  dispatch(options: never, handler: never): boolean
}

export const dispatcherSchema = z.custom<HostDispatcher>(
  (given) => typeof Object(given).dispatch === 'function',
  "must be a Dispatcher of undici, such as new ProxyAgent('http://proxy.example:3128'). Only code can pass one: a stored route cannot",
)

/** Sends calls through a host's dispatcher. */
export class DispatcherOfHost implements Sender {
  constructor(
    private readonly dispatcher: HostDispatcher,
    private readonly origin: string,
  ) {}

  dispatch(sent: SentRequest, receiver: Receiver): boolean {
    const connection = new ConnectionOfHost(receiver)
    sent.onConnection(connection)
    const { origin } = this
    const { path, method, headers, body, headersTimeout, bodyTimeout } = sent
    const dispatcher = this.dispatcher as Pick<Dispatcher, 'dispatch'>
    const request = { origin, path, method, headers, body, headersTimeout, bodyTimeout }
    try {
      return dispatcher.dispatch(request as Dispatcher.DispatchOptions, connection)
    } catch (error) {
      receiver.onError(error as Error)
      return false
    }
  }

  // It is the host's.
  async close(): Promise<void> {}
}

/** One call on a host's dispatcher. Passes the response on to the receiver. */
class ConnectionOfHost implements Connection, Dispatcher.DispatchHandler {
  readonly isSending = false
  private controller: Dispatcher.DispatchController | undefined
  private canPause = false
  private isHeld = false

  constructor(private readonly receiver: Receiver) {}

  begin(): void {}

  drop(reason: Error): void {
    this.controller?.abort(reason)
  }

  hold(): void {
    this.isHeld = this.canPause
    if (this.isHeld) this.controller?.pause()
  }

  release(): void {
    if (!this.isHeld) return
    this.isHeld = false
    // Deferred, because undici calls the handler with buffered data while it resumes.
    queueMicrotask(() => {
      if (!this.isHeld) this.controller?.resume()
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    this.receiver.onConnect((reason) => controller.abort(reason ?? new Error('The call was aborted.')))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status >= 200) this.canPause = isKeptAlive(headers)
    this.receiver.onHeaders(status, rawHeaders(Object.entries(headers)))
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.receiver.onData(bytes)
  }

  onResponseEnd(): void {
    this.receiver.onComplete()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.receiver.onError(error)
  }
}

/**
 * Whether a reply says that its connection is kept, and has an end of its own. Other replies are not paused: if such a
 * connection breaks while paused, undici (7) fails an assertion in a listener, which crashes the process.
 */
function isKeptAlive(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  const hasEnd =
    headers['content-length'] !== undefined || /\bchunked$/i.test(String(headers['transfer-encoding']))
  return hasEnd && /^keep-alive$/i.test(String(headers.connection))
}
