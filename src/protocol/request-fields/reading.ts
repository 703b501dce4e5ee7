import { InnerJson } from '../inner-json.js'
import { MAX_VALUES } from '../json-scan.js'
import { isObject, type JsonObject, MAX_DEPTH } from '../json-values.js'
import { RequestFaults } from '../request-faults.js'
import { cleanLabel } from '../text.js'

/** A parameter that a provider gets only if the host names it. */
export interface Unlisted {
  /** Its name in `supportedParameters`. */
  readonly name: string
  /** Its path in the request, for errors. */
  readonly param: string
}

const MAX_LEFT_OUT = 20
/** Of a tool or a namespace. No provider takes more than 128. */
export const MAX_NAME_CHARS = 512
const SHOWN_CHARS = 64
export const TOO_MUCH_JSON = `must be JSON nested no deeper than ${MAX_DEPTH}, and with the other JSON texts of the request of at most ${MAX_VALUES.toLocaleString('en')} values`

/** Notes from reading a request: its faults, the parameters that a host must name, and the omitted members. */
export class RequestReading {
  readonly faults = new RequestFaults()
  /** By their name. Undefined until there is one, like the next. */
  private named: Map<string, Unlisted> | undefined
  private left: Set<string> | undefined
  /** The JSON texts of the request. */
  readonly innerJson = new InnerJson()
  /** Whether a prompt cache mark was seen. */
  marksCache = false

  /** The parameters that the host must name. */
  get unlisted(): readonly Unlisted[] {
    return this.named === undefined ? [] : [...this.named.values()]
  }

  /** The paths of unknown members, without positions, such as `messages.parsed_text`. */
  get leftOut(): readonly string[] {
    return this.left === undefined ? [] : [...this.left]
  }

  mustBeNamed(name: string, param: string): void {
    this.named ??= new Map()
    if (!this.named.has(name)) this.named.set(name, { name, param })
  }

  /** Adds a fault if JSON text takes the request beyond the limits of a body. */
  checkInnerJson(text: string, place: string): void {
    if (this.innerJson.add(text) !== 'good') this.faults.add(place, TOO_MUCH_JSON)
  }

  leaveOut(place: string, member: string): void {
    this.left ??= new Set()
    if (this.left.size >= MAX_LEFT_OUT) return
    this.left.add(`${place.replace(/\.\d+/g, '')}.${cleanLabel(member, SHOWN_CHARS)}`)
  }
}

/**
 * Reads one member of an object. Returns the value to send, or {@link OMITTED}, and adds a fault if the value is invalid.
 * Never called with null or undefined, because such a member counts as absent.
 */
export type Member = (value: unknown, place: string, reading: RequestReading) => unknown

export type Members = ReadonlyMap<string, Member>

/** The result for a member that is known but not sent. */
export const OMITTED = Symbol('omitted')

export const omitted: Member = () => OMITTED

function checked(rule: string, isRight: (value: unknown) => boolean): Member {
  return (value, place, { faults }) => {
    if (!isRight(value)) faults.add(place, `must be ${rule}`)
    return value
  }
}

export const text = checked('a string', (value) => typeof value === 'string')
/** The name of a tool or of a namespace. Names come back with each call of a reply, so long ones would make it long. */
export const toolName = checked(
  `a string of at most ${MAX_NAME_CHARS} characters`,
  (value) => typeof value === 'string' && value.length <= MAX_NAME_CHARS,
)
export const boolean = checked('a boolean', (value) => typeof value === 'boolean')
/** A JSON Schema or another object of the caller's data, which is sent unchanged. */
export const data = checked('an object', isObject)

/** Reads a member of an earlier reply, which the client cannot fix: a wrong value is omitted without a fault. */
export function ifRight(isRight: (value: unknown) => boolean): Member {
  return (value, place, reading) => {
    if (isRight(value)) return value
    const end = place.lastIndexOf('.')
    reading.leaveOut(place.slice(0, end), place.slice(end + 1))
    return OMITTED
  }
}

export function oneOf(...values: readonly string[]): Member {
  return checked(`one of ${values.join(', ')}`, (value) => values.includes(value as string))
}

/** Accepts any value. It may be checked elsewhere. */
export const asItCame: Member = (value) => value

export function membersOf(members: Readonly<Record<string, Member>>): Members {
  return new Map(Object.entries(members))
}

/** Reads an object with these required members. */
export function needing(required: readonly string[], members: Readonly<Record<string, Member>>): Member {
  const known = membersOf(members)
  return (value, place, reading) => {
    if (isObject(value)) {
      for (const name of required) {
        if ((value[name] ?? undefined) === undefined) reading.faults.add(`${place}.${name}`, 'is required')
      }
    }
    return readObject(value, known, place, reading)
  }
}

export function objectOf(members: Members): Member {
  return (value, place, reading) => readObject(value, members, place, reading)
}

export function listOf(item: Member, most: number, items = 'items'): Member {
  return (value, place, reading) => {
    const { faults } = reading
    if (!Array.isArray(value)) {
      faults.add(place, 'must be an array')
      return value
    }
    if (value.length > most) {
      faults.add(place, `must have at most ${most.toLocaleString('en')} ${items}`)
      return value
    }
    return readList(value, item, place, reading)
  }
}

/** Returns the same list if every item can be sent unchanged. */
export function readList(
  list: readonly unknown[],
  item: Member,
  place: string,
  reading: RequestReading,
): readonly unknown[] {
  let sent: unknown[] | undefined
  for (let position = 0; position < list.length && !reading.faults.full; position++) {
    const given = list[position]
    const read = item(given, `${place}.${position}`, reading)
    if (read !== given) sent ??= list.slice(0, position)
    if (sent !== undefined && read !== OMITTED) sent.push(read)
  }
  return sent ?? list
}

/** Reads the members of an object. Returns the same object if it can be sent unchanged. */
export function readObject(
  value: unknown,
  members: Members,
  place: string,
  reading: RequestReading,
): JsonObject {
  if (!isObject(value)) {
    reading.faults.add(place, 'must be an object')
    return {}
  }
  const sent: JsonObject = {}
  let isAsItCame = true
  for (const name of Object.keys(value)) {
    const given = value[name]
    const member = members.get(name)
    if (given === null || given === undefined || member === undefined) {
      if (given !== null && given !== undefined) reading.leaveOut(place, name)
      isAsItCame = false
      continue
    }
    const read = member(given, `${place}.${name}`, reading)
    if (read !== given) isAsItCame = false
    if (read !== OMITTED) sent[name] = read
  }
  return isAsItCame ? value : sent
}

const EPHEMERAL = new Map([['type', oneOf('ephemeral')]])
const TTL = oneOf('5m', '1h')

/**
 * A mark up to which the provider may cache the prompt. A `ttl` of an hour becomes five minutes, the only one that the
 * price of a cache write covers.
 */
export const cacheControl: Member = (value, place, reading) => {
  reading.marksCache = true
  if (!isObject(value)) return readObject(value, EPHEMERAL, place, reading)
  const { type, ttl } = value
  if (type === undefined) reading.faults.add(`${place}.type`, 'is required')
  readObject({ type }, EPHEMERAL, place, reading)
  if (ttl === undefined || ttl === null) {
    return Object.keys(value).length === 1 ? value : { type }
  }
  TTL(ttl, `${place}.ttl`, reading)
  return ttl === '5m' && Object.keys(value).length === 2 ? value : { type, ttl: '5m' }
}
