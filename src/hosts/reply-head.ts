import type { ReplyBytes, WholeReply } from '../contracts/reply.js'
import { JSON_TYPE } from '../protocol/media-types.js'
import type { WireBytes } from '../protocol/wire-bytes.js'
import { ANY_ORIGIN, letRead } from './cors.js'
import type { ReplyHeaders } from './hosted.js'

const NO_STORE = 'no-store'
const PUBLIC = 'public, max-age=300'
const FIRST_ERROR = 400
const NOT_MODIFIED = 304
/** Longer replies are written in pieces of this length, each after the client has accepted the previous ones. */
const PIECE_BYTES = 256 * 1_024
// Without `no-transform`, a compressing proxy or middleware delays events, sometimes until the end.
const STREAM_CACHE_CONTROL = 'no-cache, no-transform'

/** Returns the headers of a reply whose length is known. `isPublic`: any cache may keep a success. */
export function wholeHead(
  status: number,
  headers: Readonly<ReplyHeaders>,
  bytes: WholeReply,
  isPublic: boolean,
): ReplyHeaders {
  // Spreads would take several times as long, for each reply.
  const head: ReplyHeaders =
    status === NOT_MODIFIED ? {} : { 'content-type': JSON_TYPE, 'content-length': String(lengthOf(bytes)) }
  head['cache-control'] = isPublic && status === 200 ? PUBLIC : NO_STORE
  head['x-content-type-options'] = 'nosniff'
  return Object.assign(head, headers)
}

/** Returns the headers of a reply without a body. */
export function emptyHead(headers: Readonly<ReplyHeaders>): ReplyHeaders {
  return { 'cache-control': NO_STORE, 'x-content-type-options': 'nosniff', ...headers }
}

/** Returns the headers of a stream of events. */
export function streamHead(headers: Readonly<ReplyHeaders>): ReplyHeaders {
  return {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': STREAM_CACHE_CONTROL,
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    ...headers,
  }
}

/** Names the address of the protected-resource metadata (RFC 9728) in a challenge. */
export function nameMetadata(headers: ReplyHeaders, resourceMetadata: string | undefined): void {
  if (resourceMetadata !== undefined && headers['www-authenticate'] !== undefined) {
    headers['www-authenticate'] = `${headers['www-authenticate']}, resource_metadata="${resourceMetadata}"`
  }
}

/** Lets the page that sent a request read the reply, if it may. `vary` is what the host has set. */
export function letPageRead(
  headers: ReplyHeaders,
  status: number,
  origin: string,
  isOriginAllowed: boolean,
  vary?: number | string | readonly string[] | undefined,
): void {
  // Every page may read an error: otherwise its author would see a network error instead of the reason.
  if (status >= FIRST_ERROR) letRead(headers, ANY_ORIGIN, vary)
  else if (isOriginAllowed) letRead(headers, origin, vary)
}

/** Whether a reply is short enough to be sent in one piece. */
export function isShort(bytes: ReplyBytes): bytes is WireBytes {
  return typeof bytes === 'string' && bytes.length <= PIECE_BYTES
}

/** Cuts bytes into pieces that are not too long. */
export function* piecesOf(bytes: ReplyBytes): Generator<WireBytes, void> {
  for (const part of typeof bytes === 'string' ? [bytes] : bytes) {
    for (let at = 0; at < part.length; at += PIECE_BYTES) yield part.slice(at, at + PIECE_BYTES)
  }
}

function lengthOf(bytes: WholeReply): number {
  if (typeof bytes === 'string') return bytes.length
  return bytes.reduce((sum, piece) => sum + piece.length, 0)
}
