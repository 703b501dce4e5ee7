import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { createCompatHandler } from '../../src/handler.js'
import { createCompatRouter, type RouterOptions } from '../../src/index.js'
import { RouterHarness } from '../helpers/router-harness.js'

/** A reply, of a provider or of the router. */
export interface Answered {
  readonly status: number
  readonly type: string
  readonly bytes: string
}

/** A provider: what it answers to a POST. */
export type Answer = (path: string, headers: Readonly<Record<string, string>>, raw: string) => Answered

/** What adapters send their requests with, if it is no socket. */
export interface Transport {
  readonly fetch: typeof globalThis.fetch
  readonly dispatcher: { dispatch(options: never, handler: never): boolean }
}

/** How clients reach a router, and how its adapters reach providers. */
export interface Way {
  /** The address of the providers. */
  readonly upstream: string
  readonly transport?: Transport
  open(options: RouterOptions): Promise<void>
  post(path: string, headers: Readonly<Record<string, string>>, body: string): Promise<Answered>
  close(): Promise<void>
}

/** Over real sockets, as in production. */
export async function overSockets(answer: Answer): Promise<Way> {
  const harness = new RouterHarness()
  const agent = new Agent({ keepAlive: true })
  const upstream = await harness.listen((request, response) => {
    textOf(request)
      .then((raw) => {
        const { bytes, status, type } = answer(request.url ?? '', namesAndValues(request.headers), raw)
        response.writeHead(status, { 'content-type': type })
        response.end(bytes)
      })
      .catch((error: Error) => response.destroy(error))
  })
  let router: ReturnType<typeof createCompatRouter>
  let origin = ''
  return {
    upstream: upstream.baseUrl,
    async open(options) {
      router = createCompatRouter(options)
      const { baseUrl } = await harness.listen(router)
      origin = baseUrl
    },
    async post(path, headers, body) {
      const request = httpRequest(origin + path, { agent, method: 'POST', headers })
      request.end(body)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      const bytes = await textOf(response)
      const { 'content-type': type = '' } = response.headers
      return { status: response.statusCode ?? 0, type, bytes }
    },
    async close() {
      agent.destroy()
      await router.close({ graceMs: 1_000 })
      await harness.close()
    },
  }
}

const namesAndValues = (headers: IncomingMessage['headers']) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

/** What the adapter's dispatcher is given, as far as it is used. */
interface Dispatched {
  readonly path: string
  readonly headers: readonly string[]
  readonly body: string | Buffer
}
interface DispatchHandler {
  onRequestStart(controller: object, context: object): void
  onResponseStart(controller: object, status: number, headers: object, message: string): void
  onResponseData(controller: object, bytes: Buffer): void
  onResponseEnd(controller: object, trailers: object): void
  onResponseError(controller: object, error: Error): void
}

/** Within this process: several times as fast, for many conversations. */
export async function inProcess(answer: Answer): Promise<Way> {
  const dispatch = ({ body, headers, path }: Dispatched, handler: DispatchHandler): boolean => {
    let aborted: Error | undefined
    const controller = {
      abort(reason: Error) {
        aborted ??= reason
      },
      pause() {},
      resume() {},
    }
    handler.onRequestStart(controller, {})
    setImmediate(() => {
      if (aborted !== undefined) {
        handler.onResponseError(controller, aborted)
        return
      }
      const names: Record<string, string> = {}
      for (let at = 0; at < headers.length; at += 2) names[headers[at]!.toLowerCase()] = headers[at + 1]!
      const { bytes, status, type } = answer(path, names, body.toString())
      const data = Buffer.from(bytes)
      handler.onResponseStart(controller, status, { 'content-type': type }, '')
      // A read of a socket may end anywhere.
      const half = data.length >> 1
      handler.onResponseData(controller, data.subarray(0, half))
      handler.onResponseData(controller, data.subarray(half))
      if (aborted === undefined) handler.onResponseEnd(controller, {})
      else handler.onResponseError(controller, aborted)
    })
    return true
  }
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { headers, pathname } = { pathname: new URL(String(input)).pathname, headers: init?.headers }
    const { bytes, status, type } = answer(
      pathname,
      Object.fromEntries(new Headers(headers)),
      String(init?.body),
    )
    return new Response(bytes, { status, headers: { 'content-type': type } })
  }
  let handler: ReturnType<typeof createCompatHandler>
  return {
    upstream: 'http://127.0.0.1:9',
    transport: { fetch, dispatcher: { dispatch } as Transport['dispatcher'] },
    async open(options) {
      handler = createCompatHandler(options)
    },
    async post(path, headers, body) {
      const response = await handler(
        new Request(`http://127.0.0.1:9${path}`, { method: 'POST', headers, body }),
      )
      const type = response.headers.get('content-type') ?? ''
      return { status: response.status, type, bytes: await response.text() }
    },
    async close() {
      await handler.close({ graceMs: 1_000 })
    },
  }
}
