import { CompatError } from '../../base/errors.js'
import type { JsonObject } from '../json-values.js'
import { OUTLINE_CODES, type OwnFields, ownFields, type RequestOutline, readOutline } from './own-fields.js'
import { RequestReading, type Unlisted } from './reading.js'
import { REFUSED_FIELDS, refuseFields, type Spellings } from './refused-fields.js'

/** Every step of a call loops over the fields. No real client sends more than a hundred. */
const MAX_FIELDS = 1_000

/** A request whose model and own fields have been read. */
export interface OpenRequest {
  readonly keys: readonly string[]
  readonly reading: RequestReading
  /** Undefined if it has faults, which `reading` then contains. */
  readonly outline: RequestOutline | undefined
}

/**
 * Starts to read the request of any operation. Throws 400 if it has too many fields, a field that no host can allow, or a
 * different spelling of a known field.
 *
 * @param refused the fields that no host can allow, each with the reason
 */
export function openRequest(
  body: JsonObject,
  spellings: Spellings,
  refused: ReadonlyMap<string, string> = REFUSED_FIELDS,
): OpenRequest {
  const keys = Object.keys(body)
  if (keys.length > MAX_FIELDS) {
    throw new CompatError('invalid_request', 'The request body has more than 1,000 fields.')
  }
  refuseFields(keys, spellings, refused)
  const reading = new RequestReading()
  return { keys, reading, outline: readOutline(body, reading) }
}

/** The part of a request that all operations have. */
export interface CommonRequest {
  readonly model: string
  readonly own: OwnFields
  readonly unlisted: readonly Unlisted[]
  readonly leftOut: readonly string[]
}

/**
 * Finishes reading. Throws a `CompatError` of status 400 if there are faults. Its message names the first fault, and
 * its `details` at most 20. Neither ever contains a value of the client's.
 */
export function closeRequest({ outline, reading }: OpenRequest): CommonRequest {
  if (outline === undefined || reading.faults.list.length > 0) throw reading.faults.error(OUTLINE_CODES)
  const { unlisted, leftOut } = reading
  return {
    model: outline.model,
    own: ownFields(outline),
    unlisted,
    leftOut,
  }
}

/** Returns the fields that an operation does not know. They reach a provider only if the host names them. */
export function readUnknown(
  body: JsonObject,
  { keys, reading }: OpenRequest,
  known: ReadonlySet<string>,
): JsonObject {
  const sent: JsonObject = {}
  for (const key of keys) {
    const value = body[key]
    if (known.has(key) || value === null || value === undefined) continue
    reading.mustBeNamed(key, key)
    sent[key] = value
  }
  return sent
}
