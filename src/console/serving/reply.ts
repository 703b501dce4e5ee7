import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { JSON_TYPE } from '../../protocol/media-types.js'
import type { HttpError } from './http-error.js'

/** Allows only files and the API of this origin. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const COMMON_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

type Headers = Readonly<Record<string, string | number>>

/** Sends a complete reply. Does nothing if the host has already replied or the client has left. */
export function send(
  res: ServerResponse,
  status: number,
  headers: Headers,
  body: string | Uint8Array = '',
  isHead = false,
): void {
  if (res.headersSent || res.writableEnded || res.destroyed) return
  res.writeHead(status, {
    ...COMMON_HEADERS,
    ...(status !== 304 && { 'content-length': Buffer.byteLength(body) }),
    ...headers,
  })
  res.end(isHead ? undefined : body)
}

export function sendJson(res: ServerResponse, status: number, body: object, headers: Headers = {}): void {
  send(
    res,
    status,
    { 'content-type': JSON_TYPE, 'cache-control': 'no-store', ...headers },
    JSON.stringify(body),
  )
}

/** A picture instead of JSON. */
export interface PictureReply {
  readonly picture: { readonly type: string; readonly bytes: Uint8Array }
}

export function sendPicture(res: ServerResponse, { type, bytes }: PictureReply['picture']): void {
  send(res, 200, { 'content-type': type, 'cache-control': 'no-store' }, bytes)
}

/** `field` is a path into the query or the body, such as `prices.input`. */
export interface ErrorReply {
  readonly error: { readonly message: string; readonly field?: string }
}

export function sendError(res: ServerResponse, { status, message, field, headers }: HttpError): void {
  const body: ErrorReply = { error: { message, field } }
  sendJson(res, status, body, headers)
}

/** A file instead of JSON. It is generated while it is sent, no faster than the client reads. */
export interface CsvReply {
  readonly csv: { readonly fileName: string; readonly lines: AsyncIterable<string> }
}

/** Rejects if generating the file fails. Nothing is sent before the first line is ready. */
export async function sendCsv(res: ServerResponse, { fileName, lines }: CsvReply['csv']): Promise<void> {
  const iterator = lines[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (res.headersSent || res.destroyed) return
  res.writeHead(200, {
    ...COMMON_HEADERS,
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': `attachment; filename="${fileName}"`,
    'cache-control': 'no-store',
  })
  async function* rest(): AsyncGenerator<string> {
    if (first.done !== true) yield first.value
    yield* { [Symbol.asyncIterator]: () => iterator }
  }
  await pipeline(Readable.from(rest()), res)
}
