import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { HttpError } from './serving/http-error.js'

export type ConsoleRequest = IncomingMessage & { body?: unknown; originalUrl?: string }

const MAX_BODY_BYTES = 1_048_576
const JSON_TYPE_PATTERN = /^application\/json *(?:;|$)/i

/**
 * Refuses a request that writes unless a page of this origin sent it. `origin` is the console's origin as browsers see
 * it, if that differs from the `Host` header.
 */
export function checkOrigin(req: ConsoleRequest, origin: string | undefined): void {
  const site = one(req.headers['sec-fetch-site'])
  const from = one(req.headers.origin)
  const isForeign =
    (site !== undefined && site !== 'same-origin') ||
    (from !== undefined && !isOwn(from, req, origin)) ||
    (site === undefined && from === undefined)
  if (!isForeign) return
  const why =
    from === undefined
      ? 'the request does not say which page sent it'
      : `the request came from ${JSON.stringify(from.slice(0, 256))}, and the console is at ${JSON.stringify(origin ?? hostOf(req) ?? 'an unknown host')}`
  throw new HttpError(
    403,
    `Only the console's own pages may change anything: ${why}. Behind a proxy that rewrites Host, set the origin option of createConsole and oneTimeSignIn.`,
  )
}

/** An origin as browsers send it. */
export const originSchema = z
  .string()
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    'must be only a scheme and a host, such as https://console.example.com',
  )

function isOwn(from: string, req: ConsoleRequest, origin: string | undefined): boolean {
  if (origin !== undefined) return from === origin
  // A proxy that terminates TLS changes the scheme, so only the host is compared.
  return URL.canParse(from) && new URL(from).host !== '' && new URL(from).host === hostOf(req)?.toLowerCase()
}

function hostOf(req: ConsoleRequest): string | undefined {
  return req.headers.host ?? one(req.headers[':authority'])
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

/** Returns the request's body, an object that is read here or was read by an earlier middleware. */
export async function readBody(req: ConsoleRequest): Promise<Readonly<Record<string, unknown>>> {
  if (!JSON_TYPE_PATTERN.test(req.headers['content-type'] ?? '')) {
    throw new HttpError(415, 'Send JSON, with content-type: application/json')
  }
  const isUnread = !req.readableDidRead && !req.readableEnded
  const body = isUnread ? parse(await collect(req)) : req.body
  if (typeof body === 'string' || Buffer.isBuffer(body)) return objectOf(parse(body))
  return objectOf(body)
}

function objectOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new HttpError(400, 'The body must be a JSON object')
  }
  return body as Readonly<Record<string, unknown>>
}

function parse(bytes: string | Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    throw new HttpError(400, 'The body is not JSON')
  }
}

async function collect(req: ConsoleRequest): Promise<Buffer> {
  const tooLarge = new HttpError(413, `The body has more than ${MAX_BODY_BYTES} bytes`, undefined, {
    connection: 'close',
  })
  if (Number(req.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge
  const parts: Buffer[] = []
  let bytes = 0
  // Not `for await`: leaving its loop early would destroy the socket before the refusal is written.
  return new Promise((done, fail) => {
    const stop = (error?: Error): void => {
      req.off('data', accept).off('end', finish).off('error', stop).off('close', fallShort)
      if (error === undefined) done(Buffer.concat(parts))
      else fail(error)
    }
    const accept = (part: Buffer): void => {
      bytes += part.length
      parts.push(part)
      if (bytes <= MAX_BODY_BYTES) return
      req.pause()
      stop(tooLarge)
    }
    const finish = (): void => stop()
    const fallShort = (): void => stop(new HttpError(400, 'The body ended too early'))
    req.on('data', accept).on('end', finish).on('error', stop).on('close', fallShort)
  })
}
