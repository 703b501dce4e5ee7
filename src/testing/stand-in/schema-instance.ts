import { createContext, Script } from 'node:vm'

type Schema = Readonly<Record<string, unknown>>

const MAX_DEPTH = 24
/** Limits the work for one schema. Callers choose it, and all of them share this process. */
const MAX_STEPS = 10_000
/** For all patterns of a schema together. */
const PATTERNS_MS = 200
const FIND_FITTING = new Script(
  "(() => { const expression = new RegExp(pattern, 'u'); return texts.find((text) => expression.test(text)) })()",
)

/** Strings to try, in order, until one satisfies the schema's `format`, `pattern` and lengths. */
const STRINGS = ['text', 'a', 'A', '0', '1', '00', '000', 'aaaaa', 'AAA', '2025-01-31', 'ab-12']

const FORMATS: Readonly<Record<string, string>> = {
  date: '2025-01-31',
  time: '09:30:00Z',
  'date-time': '2025-01-31T09:30:00Z',
  duration: 'P1D',
  email: 'ada@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '3f1c2a4e-5b6d-4c7e-8f90-a1b2c3d4e5f6',
}

/**
 * Returns a small value that a JSON schema accepts: only required properties, the first value of an `enum`, numbers
 * within their bounds.
 *
 * A string without further rules is the `hint`. A `pattern` is satisfied if one of a few candidates matches. Throws a
 * `RangeError` if the schema requires endless nesting or a large value.
 */
export function schemaInstance(schema: unknown, hint = 'text'): unknown {
  return build(schema, { root: schema, hint, stepsLeft: MAX_STEPS, patternMsLeft: PATTERNS_MS }, 0)
}

interface Building {
  readonly root: unknown
  readonly hint: string
  stepsLeft: number
  patternMsLeft: number
}

function spend(steps: number, building: Building): void {
  building.stepsLeft -= steps
  if (building.stepsLeft < 0) throw new RangeError('The schema requires a value that is too large')
}

function build(input: unknown, building: Building, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new RangeError('The schema requires endless nesting')
  spend(1, building)
  if (!isSchema(input)) return building.hint
  const schema = merge(input, building, depth)
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0]
  const alternatives = schema.anyOf ?? schema.oneOf
  if (Array.isArray(alternatives)) return firstPossible(schema, alternatives, building, depth)
  switch (typeOf(schema)) {
    case 'object':
      return objectOf(schema, building, depth)
    case 'array':
      return arrayOf(schema, building, depth)
    case 'number':
      return numberOf(schema, 1e-9)
    case 'integer':
      return numberOf(schema, 1)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return stringOf(schema, building)
  }
}

/** Resolves `$ref` and merges `allOf`. */
function merge(schema: Schema, building: Building, depth: number): Schema {
  if (depth > MAX_DEPTH) throw new RangeError('The schema requires endless nesting')
  const { $ref: reference, allOf, ...rest } = schema
  spend(Object.keys(rest).length, building)
  const parts: Schema[] = []
  if (typeof reference === 'string') parts.push(resolve(reference, building.root))
  if (Array.isArray(allOf)) parts.push(...allOf.filter(isSchema))
  let whole: Schema = rest
  for (const part of parts) whole = join(merge(part, building, depth + 1), whole, building)
  return whole
}

function join(one: Schema, other: Schema, building: Building): Schema {
  const required = [...listOf(one.required), ...listOf(other.required)]
  spend(required.length, building)
  return { ...one, ...other, ...joinedProperties(one.properties, other.properties, building), required }
}

function joinedProperties(one: unknown, other: unknown, building: Building): Schema {
  if (!isSchema(one) || !isSchema(other)) return {}
  spend(Object.keys(one).length + Object.keys(other).length, building)
  return { properties: { ...one, ...other } }
}

function resolve(reference: string, root: unknown): Schema {
  let found: unknown = root
  for (const step of reference.replace(/^#\/?/, '').split('/').filter(Boolean)) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    found = isSchema(found) && Object.hasOwn(found, name) ? found[name] : undefined
  }
  return isSchema(found) ? found : {}
}

function firstPossible(schema: Schema, alternatives: unknown[], building: Building, depth: number): unknown {
  const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema
  let failure: unknown
  for (const alternative of alternatives) {
    try {
      return build({ ...rest, allOf: [alternative] }, building, depth + 1)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

function objectOf(schema: Schema, building: Building, depth: number): unknown {
  const properties = isSchema(schema.properties) ? schema.properties : {}
  const names = new Set(listOf(schema.required).filter((name) => typeof name === 'string'))
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      build(
        Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties,
        building,
        depth + 1,
      ),
    ]),
  )
}

function arrayOf(schema: Schema, building: Building, depth: number): unknown {
  const first = listOf(schema.prefixItems)
  const length = Math.max(first.length, Math.min(Number(schema.minItems ?? 0) || 0, 100))
  return Array.from({ length }, (_, index) => build(first[index] ?? schema.items, building, depth + 1))
}

function numberOf(schema: Schema, step: number): number {
  const multiple = typeof schema.multipleOf === 'number' && schema.multipleOf > 0 ? schema.multipleOf : step
  const above = typeof schema.exclusiveMinimum === 'number' ? schema.exclusiveMinimum + multiple : undefined
  const below = typeof schema.exclusiveMaximum === 'number' ? schema.exclusiveMaximum - multiple : undefined
  const lowest = Math.max(...[schema.minimum, above].filter((bound) => typeof bound === 'number'))
  const highest = Math.min(...[schema.maximum, below].filter((bound) => typeof bound === 'number'))
  const wanted = Math.min(Math.max(1, lowest), highest)
  if (multiple < 1 && typeof schema.multipleOf !== 'number') return wanted
  const rounded = Math.ceil(wanted / multiple) * multiple
  return rounded > highest ? Math.floor(wanted / multiple) * multiple : rounded
}

function stringOf(schema: Schema, building: Building): string {
  const least = Number(schema.minLength ?? 0) || 0
  const most = Number(schema.maxLength ?? Number.POSITIVE_INFINITY)
  const { format, pattern } = schema
  const isKnown = typeof format === 'string' && Object.hasOwn(FORMATS, format)
  const first = isKnown ? FORMATS[format]! : building.hint
  const candidates = [first, ...STRINGS, ...Object.values(FORMATS)]
  const long = candidates.filter((text) => text.length >= least && text.length <= most)
  const fitting = typeof pattern === 'string' ? firstThatMatches(long, pattern, building) : long[0]
  if (fitting !== undefined) return fitting
  spend(least, building)
  return first.padEnd(least, '.').slice(0, most)
}

/** Returns the first text if the pattern is invalid. Throws if matching is too slow: callers choose the pattern. */
function firstThatMatches(texts: readonly string[], pattern: string, building: Building): string | undefined {
  const context = createContext({ texts, pattern })
  const start = performance.now()
  const timeout = Math.floor(building.patternMsLeft)
  if (timeout < 1) throw tooSlow()
  try {
    return FIND_FITTING.runInContext(context, { timeout })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw tooSlow()
    return texts[0]
  } finally {
    building.patternMsLeft -= performance.now() - start
  }
}

function tooSlow(): RangeError {
  return new RangeError('A pattern of the schema takes too long to match')
}

function typeOf(schema: Schema): unknown {
  if (Array.isArray(schema.type)) return schema.type[0]
  if (schema.type !== undefined) return schema.type
  if ('properties' in schema) return 'object'
  return 'items' in schema || 'prefixItems' in schema ? 'array' : 'string'
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
