import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

export type ConnectRequest = IncomingMessage & { body?: unknown; originalUrl?: string }

const MAX_BODY_BYTES = 32 * 1_024
const FORM_PATTERN = /^application\/x-www-form-urlencoded *(?:;|$)/i

/** Returns the form of a POST, which is read here or was read by an earlier middleware. Undefined if there is none. */
export async function readForm(req: ConnectRequest): Promise<URLSearchParams | undefined> {
  if (!FORM_PATTERN.test(req.headers['content-type'] ?? '')) return undefined
  const isUnread = !req.readableDidRead && !req.readableEnded
  if (isUnread) return parse(await collect(req))
  const { body } = req
  if (typeof body === 'string' || Buffer.isBuffer(body)) return parse(body)
  if (typeof body !== 'object' || body === null) return undefined
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(body)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      // Some parsers create objects from names with brackets, and an object may have a `toString` that is not a
      // function.
      if (typeof one !== 'string') return undefined
      form.append(name, one)
    }
  }
  return form
}

function parse(bytes: Buffer | string | undefined): URLSearchParams | undefined {
  return bytes === undefined ? undefined : new URLSearchParams(bytes.toString())
}

/** Returns the bytes of a body. Undefined if it is too long or ends too early. */
function collect(req: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = []
  let bytes = 0
  // Not `for await`: leaving the loop early would destroy the socket before the refusal is written.
  return new Promise((resolve) => {
    req.on('data', (part: Buffer) => {
      bytes += part.length
      if (bytes <= MAX_BODY_BYTES) parts.push(part)
      else resolve(undefined)
    })
    req.on('end', () => resolve(Buffer.concat(parts)))
    req.on('error', () => resolve(undefined))
    req.on('close', () => resolve(undefined))
  })
}

/** Returns a parameter that occurs more than once, which only `resource` may do (RFC 6749, 3.1 and 3.2; RFC 8707, 2). */
export function doubledParameter(parameters: URLSearchParams): string | undefined {
  const seen = new Set<string>()
  for (const name of parameters.keys()) {
    if (name !== 'resource' && seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

/** The only headers of a client that the library sees. */
const PASSED = [
  'authorization',
  'origin',
  'access-control-request-method',
  'access-control-request-headers',
] as const

export interface LibraryRequest {
  readonly method: string
  /** Under the mount, with its query. */
  readonly path: string
  readonly form?: URLSearchParams
  /** The format of an error. */
  readonly accept: 'text/html' | 'application/json'
}

/**
 * Creates the request that the library sees. Its address comes from the options, whatever host, proxy or mount it came
 * through, and it has only Connect's own cookies.
 */
export function libraryRequest(
  req: IncomingMessage,
  { accept, form, method, path }: LibraryRequest,
  { mount, origin }: { readonly mount: string; readonly origin: string },
  isCookie: (name: string) => boolean,
): IncomingMessage {
  const body = form === undefined ? undefined : Buffer.from(form.toString())
  const { host, protocol } = new URL(origin)
  const headers: Record<string, string> = { host, 'x-forwarded-proto': protocol.slice(0, -1), accept }
  for (const name of PASSED) if (req.headers[name] !== undefined) headers[name] = String(req.headers[name])
  const cookies = (req.headers.cookie ?? '').split(/; */).filter((pair) => isCookie(pair.split('=')[0]!))
  if (cookies.length > 0) headers.cookie = cookies.join('; ')
  if (body !== undefined) {
    headers['content-type'] = 'application/x-www-form-urlencoded'
    headers['content-length'] = String(body.length)
  }
  const { httpVersion, httpVersionMajor, httpVersionMinor, socket } = req
  const own = { method, headers, socket, connection: socket, httpVersion, httpVersionMajor, httpVersionMinor }
  return Object.assign(Readable.from(body === undefined ? [] : [body], { objectMode: false }), own, {
    url: path,
    originalUrl: mount + path,
    baseUrl: mount,
  }) as unknown as IncomingMessage
}

/** Whether, according to the browser, a form was sent by one of Connect's own pages. */
export function isOwnPage({ headers }: IncomingMessage, origin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  return headers.origin === undefined ? site !== undefined : headers.origin === origin
}

export type Headers = Readonly<Record<string, string>>

/** Sends a whole reply, unless the host has replied or the client has left. */
export function send(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: Headers,
  body: string | Uint8Array = '',
): void {
  if (res.headersSent || res.writableEnded || res.destroyed) return
  res.writeHead(status, {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-length': Buffer.byteLength(body),
    ...headers,
  })
  res.end(req.method === 'HEAD' ? undefined : body)
}

export function sendJson(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  body: object,
  headers: Headers = {},
): void {
  send(
    req,
    res,
    status,
    { 'content-type': 'application/json; charset=utf-8', ...headers },
    JSON.stringify(body),
  )
}

/** Redirects a browser with GET, whatever method it used. */
export function redirect(req: IncomingMessage, res: ServerResponse, location: string): void {
  send(req, res, 303, { location, 'referrer-policy': 'no-referrer' })
}
