import { z } from 'zod'
import { cleanLabel } from '../protocol/text.js'

type Fault = z.core.$ZodRawIssue

const SHOWN_NAME_CHARS = 64

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
}

/**
 * Returns the fault of a value and its remedy, as words that follow its path. They never include the value. `noun`
 * describes the valid values if their type alone does not. If the result is undefined, the schema library's own message
 * applies.
 */
export function describeFault(fault: Fault, noun?: string): string | undefined {
  switch (fault.code) {
    case 'invalid_type':
      return describeType(fault.input, typeWanted(fault), noun)
    case 'invalid_value':
      return mustBeOneOf(fault.input, fault.values)
    case 'invalid_union':
      return describeUnion(fault)
    case 'unrecognized_keys':
      return describeUnknownFields(fault.keys, fault.inst)
    case 'invalid_key':
      return `has a name that ${fault.issues[0]?.message ?? 'must be of the right form'}`
    case 'too_small':
      return describeBound(fault.origin, fault.minimum, fault.inclusive === false ? 'above' : 'at least')
    case 'too_big':
      return describeBound(fault.origin, fault.maximum, fault.inclusive === false ? 'below' : 'at most')
    default:
      return undefined
  }
}

/** Returns parameters for a schema whose type alone does not describe the valid values. */
export function mustBe(noun: string): { readonly error: (fault: Fault) => string | undefined } {
  return { error: (fault) => describeFault(fault, noun) }
}

/** Joins the segments with dots. The result fits in one line. */
export function describePath(path: readonly PropertyKey[]): string {
  return path.map((segment) => cleanLabel(String(segment), SHOWN_NAME_CHARS)).join('.')
}

/** If the value is not a number, only the schema shows whether a whole number was expected. */
function typeWanted({ expected, inst }: Extract<Fault, { code: 'invalid_type' }>): string {
  return expected === 'number' && inst instanceof z.ZodNumberFormat ? 'int' : expected
}

function describeType(input: unknown, expected: string, noun = NOUNS[expected] ?? expected): string {
  return input === undefined
    ? `is missing; it must be ${noun}`
    : `must be ${noun}; got ${kindOf(input, expected)}${remedy(input, expected)}`
}

/**
 * Returns the fault of a value whose class does not keep its content in fields, otherwise undefined. A schema with only
 * optional fields would accept such a value as an empty object.
 */
export function describeFieldless(input: unknown): string | undefined {
  return CLASSES.some(({ of }) => input instanceof of) ? describeType(input, 'object') : undefined
}

/** Classes whose instances are often mistaken for plain objects. */
const CLASSES: readonly { readonly of: new (...given: never[]) => object; readonly name: string }[] = [
  { of: Map, name: 'a Map' },
  { of: Set, name: 'a Set' },
  { of: Date, name: 'a Date' },
  { of: Promise, name: 'a promise' },
]
const FROM_ENTRIES = ': convert it with Object.fromEntries'

function kindOf(input: unknown, expected: string): string {
  if (input === null) return 'null'
  if (Array.isArray(input)) return 'a list'
  if (typeof input === 'object') return CLASSES.find(({ of }) => input instanceof of)?.name ?? 'an object'
  if (typeof input !== 'number') return `a ${typeof input}`
  if (!Number.isFinite(input)) return String(input)
  return expected === 'int' ? 'a fraction' : 'a number'
}

function remedy(input: unknown, expected: string): string {
  if (input instanceof Promise) return ': await it first'
  if (input instanceof Date && (expected === 'number' || expected === 'int')) return ': use getTime()'
  if (input instanceof Map && (expected === 'object' || expected === 'record')) return FROM_ENTRIES
  if (input instanceof Set && expected === 'array') return ': convert it with Array.from'
  if (expected === 'string' && typeof input === 'number') return ': put it in quotes'
  if (expected === 'array' && typeof input === 'string') return ': put it in square brackets'
  const isNumeric = typeof input === 'string' && input.trim() !== '' && Number.isFinite(Number(input))
  return isNumeric && (expected === 'number' || expected === 'int') ? ': remove the quotes' : ''
}

function mustBeOneOf(input: unknown, values: readonly unknown[]): string {
  const shown = values.map((value) => (typeof value === 'string' ? JSON.stringify(value) : String(value)))
  const last = shown.at(-1) ?? ''
  const list = shown.length < 2 ? last : `${shown.slice(0, -1).join(', ')} or ${last}`
  return input === undefined ? `is missing; it must be ${list}` : `must be ${list}`
}

function describeUnion(fault: Extract<Fault, { code: 'invalid_union' }>): string | undefined {
  const { input, discriminator, options } = fault
  if (typeof discriminator !== 'string' || !Array.isArray(options)) return undefined
  return mustBeOneOf((input as Readonly<Record<string, unknown>>)[discriminator], options)
}

function describeUnknownFields(names: readonly string[], schema: unknown): string {
  const shown = names.map((name) => JSON.stringify(cleanLabel(name, SHOWN_NAME_CHARS))).slice(0, 3)
  const fields = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
  const rest = fields.length === 0 ? 'remove it' : `its fields are ${fields.join(', ')}`
  return `has no field ${shown.join(', ')}; ${rest}`
}

function describeBound(origin: string, bound: number | bigint, than: string): string | undefined {
  if (origin === 'string' && than === 'at least' && bound === 1) return 'must not be empty'
  const number = bound.toLocaleString('en')
  const ending = bound === 1 ? '' : 's'
  if (origin === 'string') return `must have ${than} ${number} character${ending}`
  if (origin === 'array') return `must have ${than} ${number} item${ending}`
  return `must be ${than} ${number}`
}
