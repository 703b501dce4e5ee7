import { z } from 'zod'
import { OptionsError } from '../base/options-error.js'
import { cleanLabel } from '../protocol/text.js'
import { describeFault, describeFieldless, describePath } from './schema-faults.js'

type Fault = z.core.$ZodRawIssue

/** A schema for each option. The compiler checks that none is missing, and that each yields the type of its option. */
export type OptionSchemas<Options> = {
  readonly [Name in keyof Options]-?: z.ZodType<
    Partial<Pick<Options, Name>> extends Pick<Options, Name> ? Options[Name] | undefined : Options[Name]
  >
}

/** Makes the schema of an object of options. It refuses unknown ones. */
export function optionsSchema<Options extends object>(schemas: OptionSchemas<Options>): z.ZodType<Options> {
  return (
    z
      .custom((given) => describeFieldless(given) === undefined, {
        error: ({ input }) => describeFieldless(input),
      })
      // The type of an optional member does not say that it may also be `undefined`.
      .pipe(z.strictObject(schemas)) as unknown as z.ZodType<Options>
  )
}

/** Makes the schema of an object with these methods, own or inherited. It yields the object itself and not a copy. */
export function withMethods<Kind extends object>(...methods: (keyof Kind & string)[]): z.ZodType<Kind> {
  return z.custom<Kind>((given) => describeMethods(given, methods) === undefined, {
    error: ({ input }) => describeMethods(input, methods),
  })
}

function describeMethods(given: unknown, methods: readonly string[]): string | undefined {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null) {
    const missing = given === undefined || given === null ? 'is missing; it ' : ''
    return `${missing}must be an object with ${methods.join(', ')}`
  }
  if (given instanceof Promise) return 'is a promise: await it first'
  const missing = methods.find((name) => typeof (given as Record<string, unknown>)[name] !== 'function')
  return missing === undefined ? undefined : `has no method ${missing}()`
}

/** Makes the schema of a function. `of` says which one, as words that follow "must be a function". */
export function functionSchema<Kind>(of = ''): z.ZodType<Kind> {
  const kind = of === '' ? 'a function' : `a function ${of}`
  return z.custom<Kind>((given) => typeof given === 'function', {
    error: ({ input }) => (input === undefined ? `is missing; it must be ${kind}` : `must be ${kind}`),
  })
}

/** Makes the schema of an object of functions by name. */
export function functionsSchema<Kind>(noun: string, example: string) {
  const functions = z.record(z.string(), functionSchema<Kind>(`${noun}: ${example}`))
  const fault = `must be an object of functions by name, such as ${example}`
  return z.custom((given) => isRecord(given), fault).pipe(functions)
}

function isRecord(given: unknown): boolean {
  const isObject = typeof given === 'object' && given !== null
  return isObject && !(Symbol.iterator in given) && !(given instanceof Promise)
}

/** An option of a function, or one of its arguments. */
interface Place {
  readonly field?: string
  /** The id of the model or route that it belongs to. */
  readonly id?: unknown
}

/**
 * Returns a copy of options that match a schema. The host's functions, stores and clocks in it are the same objects.
 * Otherwise throws an {@link OptionsError} with the name of the option, the value that came unless it may be a secret,
 * and the remedy.
 */
export function readOptions<Options>(
  schema: z.ZodType<Options>,
  given: unknown,
  where: string,
  { field: place = '', id }: Place = {},
): Options {
  const describe = (fault: Fault): string | undefined =>
    fault.code === 'unrecognized_keys' ? describeUnknown(fault, where, place) : describeFault(fault)
  const result = schema.safeParse(given, { error: describe })
  if (result.success) return result.data
  const { issues } = result.error
  // A misspelt name is the cause if another one is missing.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]!
  const isUnknown = issue.code === 'unrecognized_keys'
  const path = issue.code === 'invalid_key' ? issue.path.slice(0, -1) : issue.path
  const field = joined(place, describePath(isUnknown ? [...path, issue.keys[0]!] : path))
  const value = isUnknown ? undefined : shown(field, valueAt(given, path))
  throw new OptionsError({
    code: isUnknown ? 'unknown_option' : 'invalid_option',
    where,
    field,
    problem: withValue(
      field === '' ? issue.message.replace(WHOLE, 'takes an object of options') : issue.message,
      value,
    ),
    ...(typeof id === 'string' && id !== '' && { id: cleanLabel(id, SHOWN_CHARS) }),
  })
}

/** Returns the defaults with those options that are set. */
export function withDefaults<Group extends object>(defaults: Group, given: Partial<Group> = {}): Group {
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.freeze({ ...defaults, ...Object.fromEntries(set) })
}

const WHOLE = /^(?:is missing; it )?must be an object/
const SHOWN_CHARS = 64
/** Options that hold secrets, such as `apiKey`, `secretKeys`, `auth.clientSecret` and `headers.authorization`. */
const SECRET = /keys?(?:\.|$)|secret|password|headers|credential/i

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('.')
}

function withValue(problem: string, value: string | undefined): string {
  if (value === undefined || problem.startsWith('is missing')) return problem
  const kind = /; got [^:]+/
  return kind.test(problem) ? problem.replace(kind, () => `; got ${value}`) : `${problem}; got ${value}`
}

/** Returns a value as a message may show it. A text may be an address with a password or a query. */
function shown(field: string, value: unknown): string | undefined {
  if (field === '' || SECRET.test(field)) return undefined
  if (typeof value === 'bigint') return `${value}n`
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value !== 'string' || /[@?#]/.test(value)) return undefined
  return JSON.stringify(cleanLabel(value, SHOWN_CHARS)) + (value.length > SHOWN_CHARS ? '…' : '')
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, name) => Object(value)[name], given)
}

function describeUnknown(
  { inst, keys: [name = ''], path = [] }: Extract<Fault, { code: 'unrecognized_keys' }>,
  where: string,
  field: string,
): string {
  const names = inst instanceof z.ZodObject ? Object.keys(inst.shape) : []
  const meant = names.find((known) => resembles(name, known) || lacksUnit(name, known))
  const place = joined(field, describePath(path))
  const rest =
    meant === undefined
      ? `${place === '' ? 'its options' : `the options of ${place}`} are ${names.join(', ')}`
      : `did you mean ${joined(place, meant)}?`
  return `is not an option of ${where}; ${rest}`
}

/** Whether two names have the same letters except for one, in any order and case. */
export function resembles(one: string, other: string): boolean {
  const missing = (from: string, letters: string): number => {
    let left = letters.toLowerCase()
    for (const letter of from.toLowerCase()) left = left.replace(letter, '')
    return left.length
  }
  return missing(one, other) + missing(other, one) <= 1
}

/** Endings of our option names that other libraries often omit, as in `ttl`. */
const UNITS = ['Ms', 'Bytes', 'Tokens', 'Entries']

/** Whether a known name is this one with a unit. */
export function lacksUnit(name: string, known: string): boolean {
  return UNITS.some((unit) => (name + unit).toLowerCase() === known.toLowerCase())
}
