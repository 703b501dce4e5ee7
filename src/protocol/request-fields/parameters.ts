import { isObject, type JsonObject } from '../json-values.js'
import { KNOWN_FIELDS, type KnownField } from './known-fields.js'
import type { OpenRequest } from './open-request.js'
import { OMITTED, type RequestReading } from './reading.js'
import { Spellings } from './refused-fields.js'

/**
 * Reads the optional fields for providers, which are all but those that are read `elsewhere`. The host must name unknown
 * fields. Null counts as absent, and so do `{}` and `[]` in a known field.
 */
export function readParameters(
  body: JsonObject,
  { keys, reading }: OpenRequest,
  elsewhere: ReadonlySet<string>,
): JsonObject {
  const sent: JsonObject = {}
  for (const name of keys) {
    const value = body[name]
    if (elsewhere.has(name) || value === null || value === undefined) continue
    const field = KNOWN_FIELDS.get(name)
    if (field === undefined) {
      reading.mustBeNamed(name, name)
      sent[name] = value
      continue
    }
    if (isEmpty(value) && name !== 'response_format') continue
    const read = readField(name, field, value, reading)
    if (read !== OMITTED && read !== undefined) sent[name] = read
  }
  return sent
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) && Object.keys(value).length === 0
}

function readField(name: string, field: KnownField, value: unknown, reading: RequestReading): unknown {
  const before = reading.faults.list.length
  const read =
    field.read === undefined ? checked(name, field, value, reading) : field.read(value, name, reading)
  if (reading.faults.list.length > before || reading.faults.full) return OMITTED
  if (field.mustBeNamed?.(read) === true) {
    reading.mustBeNamed(name, name)
    return read
  }
  return field.isDropped === true ? OMITTED : read
}

function checked(name: string, field: KnownField, value: unknown, reading: RequestReading): unknown {
  const result = field.schema.safeParse(value)
  if (!result.success) {
    const issues = result.error.issues.map((issue) =>
      issue.code === 'unrecognized_keys' ||
      (issue.code !== 'invalid_union' && /^(?:must|is) /.test(issue.message))
        ? issue
        : { ...issue, path: [], code: 'custom' as const, message: `must be ${field.takes}` },
    )
    reading.faults.addIssues(issues, [name])
    return OMITTED
  }
  if (isObject(value) && isObject(result.data)) noteLeftOut(name, value, result.data, reading)
  return result.data
}

/** Reports members that a schema does not know as omitted. A different spelling of a known member is a fault. */
function noteLeftOut(name: string, given: JsonObject, read: JsonObject, reading: RequestReading): void {
  for (const member of Object.keys(given)) {
    if (Object.hasOwn(read, member)) continue
    const meant = new Spellings(membersOf(name)).of(member)
    if (meant === undefined) reading.leaveOut(name, member)
    else reading.faults.add(`${name}.${meant}`, 'is accepted only in this spelling')
  }
}

function membersOf(name: string): string[] {
  const { shape } = (KNOWN_FIELDS.get(name)?.schema ?? {}) as { shape?: object }
  return Object.keys(shape ?? {})
}
