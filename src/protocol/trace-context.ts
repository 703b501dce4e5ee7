import type { RequestHeaders } from './request-headers.js'

/** A W3C trace context. Its fields have the names of its headers. */
export interface TraceContext {
  /** Of version 00, with ids that are not zero. */
  readonly traceparent: string
  readonly tracestate?: string
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/
const TRACEPARENT_CHARS = 55
const MAX_HEADER_CHARS = 512
const MAX_MEMBERS = 32
const MEMBER =
  /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/**
 * Returns the trace context in the headers of a request, or undefined if there is none or it is malformed. A later version
 * is reduced to the fields of version 00. A `tracestate` that is malformed or over 512 characters is left out.
 */
export function readTraceContext(headers: RequestHeaders): TraceContext | undefined {
  const traceparent = headers.header('traceparent')
  if (traceparent === undefined || traceparent.length > MAX_HEADER_CHARS) return undefined
  if (!TRACEPARENT.test(traceparent)) return undefined
  const version = traceparent.slice(0, 2)
  if (version === '00' && traceparent.length !== TRACEPARENT_CHARS) return undefined
  const parent = `00${traceparent.slice(2, TRACEPARENT_CHARS)}`
  const tracestate = headers.header('tracestate')
  const state = tracestate === undefined ? undefined : readTraceState(tracestate)
  return Object.freeze(
    state === undefined ? { traceparent: parent } : { traceparent: parent, tracestate: state },
  )
}

function readTraceState(text: string): string | undefined {
  if (text.length > MAX_HEADER_CHARS) return undefined
  const members = text
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '')
  if (members.length === 0 || members.length > MAX_MEMBERS) return undefined
  return members.every((member) => MEMBER.test(member)) ? members.join(',') : undefined
}
