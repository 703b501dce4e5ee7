import { readFile } from 'node:fs/promises'
import { InvalidArgumentError } from 'commander'
import type { Session } from './session.js'

const TIME_PATTERN =
  /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/

/** A day, an ISO time, both in UTC if they have no offset, or milliseconds since the Unix epoch. */
export function parseTime(text: string): number {
  if (/^\d{12,15}$/.test(text)) return Number(text)
  const [whole, day, minute = '00:00', second = '00', fraction = '', offset = 'Z'] =
    TIME_PATTERN.exec(text) ?? []
  const clock = `${day}T${minute}:${second}.${fraction.padEnd(3, '0')}`
  // Date.parse makes March of a 30th of February.
  const asUtc = Date.parse(`${clock}Z`)
  if (whole !== text || Number.isNaN(asUtc) || new Date(asUtc).toISOString() !== `${clock}Z`) {
    throw new InvalidArgumentError(
      'Must be a time that there is, such as 2027-01-31, 2027-01-31T12:00 (both of UTC) or 2027-01-31T12:00:00+01:00.',
    )
  }
  return Date.parse(`${clock}${offset}`)
}

/** A time at which what is made now may end. */
export function parseExpiry(text: string): number {
  const time = parseTime(text)
  const now = Date.now()
  if (time <= now) {
    throw new InvalidArgumentError(`Must be in the future; it is ${new Date(now).toISOString()} now.`)
  }
  return time
}

export function parseInteger(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Must be a whole number.')
  return Number(text)
}

/** For options that may be given more than once. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

/** The JSON of a file, or of standard input for `-`. */
export async function readJsonFile<Value>(path: string, session: Session): Promise<Value> {
  const text = path === '-' ? await session.readStdin() : await readFile(path, 'utf8')
  try {
    return JSON.parse(text) as Value
  } catch {
    throw new TypeError(`${path === '-' ? 'Standard input' : path} is not JSON`)
  }
}
