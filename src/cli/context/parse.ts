import { readFile } from 'node:fs/promises'
import { InvalidArgumentError } from 'commander'
import { PERIOD_NAMES, type Period } from '../../base/periods.js'
import type { CommandContext } from './context.js'

const TIME_PATTERN =
  /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$/

/** Parses a day or an ISO time, in UTC if it has no offset, or milliseconds since the Unix epoch. */
export function parseTime(text: string): number {
  if (/^\d{12,15}$/.test(text)) return Number(text)
  const [whole, day, minute = '00:00', second = '00', fraction = '', offset = 'Z'] =
    TIME_PATTERN.exec(text) ?? []
  const clock = `${day}T${minute}:${second}.${fraction.padEnd(3, '0')}`
  // Date.parse turns 30 February into March.
  const asUtc = Date.parse(`${clock}Z`)
  if (whole !== text || Number.isNaN(asUtc) || new Date(asUtc).toISOString() !== `${clock}Z`) {
    throw new InvalidArgumentError(
      'Must be a valid time, such as 2027-01-31, 2027-01-31T12:00 (both in UTC) or 2027-01-31T12:00:00+01:00.',
    )
  }
  return Date.parse(`${clock}${offset}`)
}

/** Parses a time in the future. */
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

/** An amount in a period. */
export interface AmountPer {
  readonly amount: string
  readonly per: Period['per']
}

/** Parses an amount and its period, such as `20/month`. */
function parseAmountPer(text: string): AmountPer {
  const [, amount, name] = /^([\d.]+)\/(\w+)$/.exec(text) ?? []
  const per = PERIOD_NAMES.find((period) => period === name)
  if (amount === undefined || per === undefined) {
    throw new InvalidArgumentError(
      `Must be an amount and a period (${PERIOD_NAMES.join(', ')}), such as 20/month.`,
    )
  }
  return { amount, per }
}

/** Collects the values of an option that may be repeated. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

/** Collects the values of an option that may be repeated, such as `team=blue`, by their names. */
export function collectNamed(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Must be a name and a value, such as team=blue.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

/** Collects the amounts of an option that may be repeated, each with its period. */
export function collectAmountsPer(text: string, before: readonly AmountPer[] = []): readonly AmountPer[] {
  return [...before, parseAmountPer(text)]
}

/** Reads JSON from a file, or from standard input if the path is `-`. */
export async function readJsonFile<Value>(path: string, context: CommandContext): Promise<Value> {
  const text = path === '-' ? await context.readStdin() : await readFile(path, 'utf8')
  try {
    return JSON.parse(text) as Value
  } catch {
    throw new TypeError(`${path === '-' ? 'Standard input' : path} is not JSON`)
  }
}
