import type { CompatError, ErrorCode } from '../../../base/errors.js'
import { type ErrorStyle, errorObject } from '../../../protocol/error-body.js'
import { asciiJson, type WireBytes, wire } from '../../../protocol/wire-bytes.js'
import type { WireCharge } from '../../../protocol/wire-usage.js'
import { wireUsage } from './usage.js'

/** This API's error types by status. Others are `invalid_request_error` below 500 and `api_error` above. */
const TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
])

/** 503s that mean that part of the service is down. Clients would mistake them for too many requests. */
const UNAVAILABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'no_route_available',
  'ledger_unavailable',
  'credential_store_unavailable',
  'catalogue_unavailable',
  'provider_registry_unavailable',
  'envelope_opener_unavailable',
  'idempotency_store_unavailable',
])

function typeOf({ code, status }: CompatError): string {
  if (UNAVAILABLE.has(code)) return 'api_error'
  return TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')
}

/** The code comes before the message, so that {@link ENDING_ERROR} needs to read no text. */
function errorBody(error: CompatError, usage?: object) {
  const { message, param, source, details, metadata } = errorObject(error)
  return {
    type: 'error',
    error: {
      type: typeOf(error),
      code: error.code,
      message,
      param,
      source,
      details,
      metadata: usage === undefined ? metadata : { ...metadata, usage },
    },
  }
}

const ENDING_ERROR = /^\nevent: error\ndata: \{"type":"error","error":\{"type":"\w+","code":"(\w+)"/

/** The shape of errors in the Messages API, with the members of OpenAI's errors beside its own. */
export const MESSAGES_ERRORS: ErrorStyle = {
  body: (error) => errorBody(error),
  endingCode: (stream) => ENDING_ERROR.exec(stream.slice(stream.lastIndexOf('\nevent: ')))?.[1],
}

/** Returns the event that ends a failed stream. It is ASCII. */
export function errorEvent(error: CompatError, charge: WireCharge): WireBytes {
  return wire(`event: error\ndata: ${asciiJson(errorBody(error, wireUsage(charge)))}\n\n`)
}
