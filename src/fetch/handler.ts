import type { Endpoint } from '../contracts/endpoint.js'
import { Answers, endpointFor, type HostOptions } from '../hosts/answers.js'
import { pathOf, pathUnder } from '../hosts/match.js'
import { requestIdOf } from '../hosts/request-id.js'
import { FetchCall } from './call.js'
import { FetchReply, type ReplyTools } from './reply.js'

/** What a host knows about a request besides the `Request` itself. */
export interface HandlerInfo {
  /** The request body, if the host has already read it: the parsed JSON, the text or the bytes. */
  readonly body?: unknown
  /**
   * Keeps the process alive until a promise settles, for hosts that end it with the response: `ctx.waitUntil`
   * of Workers, `after` of Next.js. The promise settles when the call is charged. It never rejects.
   */
  readonly waitUntil?: ((promise: Promise<void>) => void) | undefined
  /**
   * `false` if the host aborts `request.signal` although the client is still there. A client that cancels the body of
   * the response is always noticed.
   */
  readonly signal?: false | undefined
  /** With `pass`, a request outside of `basePath` gets `undefined` instead of a 404. */
  readonly outside?: 'pass' | undefined
}

export interface FetchHandler {
  (request: Request, info: HandlerInfo & { readonly outside: 'pass' }): Promise<Response | undefined>
  (request: Request, info?: HandlerInfo & { readonly outside?: undefined }): Promise<Response>
}

const NOT_WEBS =
  "compat-router/fetch takes a web Request: c.req.raw in Hono, event.request in SvelteKit. For Node's own request and response there is createCompatRouter of compat-router."

/** Connects the endpoints to a host that asks by a web `Request` and answers by a `Response`. */
export function createFetchHandler(endpoints: readonly Endpoint[], options: HostOptions): FetchHandler {
  const answers = new Answers(endpoints, options)
  const { basePath, onFault, tools } = answers
  const { clock, resourceMetadata, timeouts } = options
  const replyTools: ReplyTools = { clock, onFault, resourceMetadata, timeouts }

  function answer(request: Request, path: string | undefined, info: HandlerInfo): Promise<Response> {
    const match = answers.match(path)
    const endpoint = endpointFor(match, request.method)
    const { id } = requestIdOf(request.headers.get('x-request-id') ?? undefined, undefined, options.newId)
    const call = new FetchCall(id, request, info.body, tools)
    const signal = info.signal === false ? undefined : request.signal
    const onAbort = (): void => {
      if (!call.isReading) reply.leave()
    }
    const reply: FetchReply = new FetchReply(
      call,
      replyTools,
      endpoint?.isPublic === true,
      match?.endpoints[0]?.errors,
      () => signal?.removeEventListener('abort', onAbort),
      info.waitUntil === undefined ? undefined : keepAlive(info.waitUntil),
    )
    call.onLost = reply.leave
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted === true) reply.leave()
    answers.answer(path, match, endpoint, call, reply)
    return reply.response
  }

  function handler(request: Request, info: HandlerInfo = {}): Promise<Response | undefined> {
    try {
      const path = pathUnder(basePath, pathOf(request.url))
      if (path === undefined && info.outside === 'pass') return Promise.resolve(undefined)
      return answer(request, path, info)
    } catch (error) {
      const cause = isWebs(request) ? error : new TypeError(NOT_WEBS, { cause: error })
      onFault('fetch handler', cause)
      return Promise.reject(cause)
    }
  }
  return handler as FetchHandler
}

/** Returns the function that lets go of the host's process. */
function keepAlive(waitUntil: (promise: Promise<void>) => void): () => void {
  let release!: () => void
  waitUntil(
    new Promise((resolve) => {
      release = resolve
    }),
  )
  return release
}

function isWebs(request: Request): boolean {
  return typeof request?.url === 'string' && typeof request.headers?.get === 'function'
}
