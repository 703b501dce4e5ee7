import { listed, type Objection } from './rule.js'
import { first, isObject, type Json, type Misfit, objects, type Path } from './shape.js'

/** A place as OpenAI writes it: `messages[0].content[1]`. */
export const pathOf = (path: Path): string =>
  path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  )

const ARTICLES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  null: 'null',
  list: 'an array',
  object: 'an object',
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  return ARTICLES[typeof value] ?? 'nothing'
}

export function wordsOf(misfit: Misfit): Objection {
  const param = pathOf(misfit.path)
  if (misfit.kind === 'unknown') {
    return { message: `Unknown parameter: '${param}'.`, param, code: 'unknown_parameter' }
  }
  if (misfit.kind === 'missing') {
    return { message: `Missing required parameter: '${param}'.`, param, code: 'missing_required_parameter' }
  }
  if (misfit.kind === 'value') return wrongValue(param, misfit.value, misfit.wanted)
  const wanted = misfit.wanted.filter((name) => name !== 'null').map((name) => ARTICLES[name] ?? name)
  const types = wanted.length > 1 ? `one of ${listed(wanted, 'or')}` : wanted[0]
  return {
    message: `Invalid type for '${param}': expected ${types}, but got ${typeOf(misfit.value)} instead.`,
    param,
    code: 'invalid_type',
  }
}

export function wrongValue(param: string, value: unknown, wanted: readonly unknown[]): Objection {
  const values = wanted.map((one) => `'${one}'`)
  const message = `Invalid value: '${value}'. Supported values are: ${listed(values, 'and')}.`
  return { message, param, code: 'invalid_value' }
}

export const openAiBody = ({ message, param, code, type = 'invalid_request_error' }: Objection) => ({
  error: { message, type, param: param ?? null, code: code ?? null },
})

export const tooLong = (param: string, value: unknown, length: number): Objection | undefined =>
  typeof value === 'string' && value.length > length
    ? {
        message: `Invalid '${param}': string too long. Expected a string with maximum length ${length}, but got a string with length ${value.length} instead.`,
        param,
        code: 'string_above_max_length',
      }
    : undefined

export const mismatched = (param: string, value: unknown, pattern: RegExp): Objection | undefined =>
  typeof value === 'string' && !pattern.test(value)
    ? {
        message: `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '${pattern.source}'.`,
        param,
        code: 'invalid_value',
      }
    : undefined

export const emptyArray = (param: string, value: unknown): Objection | undefined =>
  Array.isArray(value) && value.length === 0
    ? {
        message: `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
        param,
        code: 'empty_array',
      }
    : undefined

export function outside(
  param: string,
  value: unknown,
  { least, most }: { readonly least?: number; readonly most?: number },
): Objection | undefined {
  if (typeof value !== 'number') return undefined
  const kind = Number.isInteger(value) ? 'integer' : 'decimal'
  if (least !== undefined && value < least) {
    return {
      message: `Invalid '${param}': ${kind} below minimum value. Expected a value >= ${least}, but got ${value} instead.`,
      param,
      code: `${kind}_below_min_value`,
    }
  }
  if (most === undefined || value <= most) return undefined
  return {
    message: `Invalid '${param}': ${kind} above maximum value. Expected a value <= ${most}, but got ${value} instead.`,
    param,
    code: `${kind}_above_max_value`,
  }
}

/** Labels of a request: https://platform.openai.com/docs/api-reference/chat/create */
export const longLabel = (body: Json): Objection | undefined =>
  first(['user', 'safety_identifier', 'prompt_cache_key'], (name) => tooLong(name, body[name], 64))

export function badMetadata({ metadata }: Json): Objection | undefined {
  if (!isObject(metadata)) return undefined
  const names = Object.keys(metadata)
  if (names.length > 16) {
    return {
      message: `Invalid 'metadata': too many properties. Expected an object with at most 16 properties, but got an object with ${names.length} properties instead.`,
      param: 'metadata',
      code: 'object_above_max_properties',
    }
  }
  return first(
    names,
    (name) => tooLong('metadata', name, 64) ?? tooLong(`metadata.${name}`, metadata[name], 512),
  )
}

export const NAME = /^[a-zA-Z0-9_-]+$/

/** A function's parameters that OpenAI cannot use. */
export const badParameters = (param: string, name: unknown, schema: unknown): Objection | undefined =>
  isObject(schema) ? badSchema('function', param, name, objectFault(schema)) : undefined

/** The same in strict mode, which wants more of them. */
export const badStrictParameters = (param: string, name: unknown, schema: unknown): Objection | undefined =>
  isObject(schema) ? badSchema('function', param, name, strictFault(schema, [])) : undefined

/** The same for the schema of a reply. */
export const badFormat = (param: string, name: unknown, schema: unknown): Objection | undefined =>
  isObject(schema) ? badSchema('response_format', param, name, strictFault(schema, [])) : undefined

function badSchema(
  of: string,
  param: string,
  name: unknown,
  fault: string | undefined,
): Objection | undefined {
  if (fault === undefined) return undefined
  const message = `Invalid schema for ${of} '${name}': ${fault}`
  return of === 'function' ? { message, param, code: 'invalid_function_parameters' } : { message, param }
}

function objectFault({ type, properties }: Json): string | undefined {
  if (type !== 'object') {
    return `schema must be a JSON Schema of 'type: "object"', got 'type: "${type ?? 'None'}"'.`
  }
  return properties === undefined ? 'In context=(), object schema missing properties.' : undefined
}

function strictFault(schema: Json, context: readonly string[]): string | undefined {
  const quoted = context.map((step) => `'${step}'`)
  const where = `In context=(${quoted.join(', ')}${quoted.length === 1 ? ',' : ''})`
  const { properties, required, items, additionalProperties } = schema
  if (isObject(properties)) {
    if (additionalProperties !== false) {
      return `${where}, 'additionalProperties' is required to be supplied and to be false.`
    }
    const missing = Object.keys(properties).find(
      (name) => !Array.isArray(required) || !required.includes(name),
    )
    if (missing !== undefined) {
      return `${where}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`
    }
    const inner = first(Object.entries(properties), ([name, property]) =>
      isObject(property) ? strictFault(property, [...context, 'properties', name]) : undefined,
    )
    if (inner !== undefined) return inner
  } else if (schema.type === 'object') return `${where}, object schema missing properties.`
  if (isObject(items)) return strictFault(items, [...context, 'items'])
  return first(objects(schema.anyOf), (one, n) => strictFault(one, [...context, 'anyOf', String(n)]))
}

/** A `data:` URL of something that is no image where an image belongs. */
export function noImage(param: string, url: unknown): Objection | undefined {
  const type = typeof url === 'string' ? /^data:([^;,]*)/.exec(url)?.[1] : undefined
  if (type === undefined || type.startsWith('image/')) return undefined
  return {
    message: `Invalid '${param}'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got unsupported MIME type '${type}'.`,
    param,
    code: 'invalid_value',
  }
}

/** The data of a file that is no `data:` URL. */
export const noFileData = (param: string, data: unknown): Objection | undefined =>
  typeof data !== 'string' || /^data:[^;,]+;base64,[A-Za-z0-9+/=]+$/.test(data)
    ? undefined
    : {
        message: `Invalid file data: '${param}'. Expected a base64-encoded data URL with an application/pdf MIME type (e.g. 'data:application/pdf;base64,SGVsbG8sIFdvcmxkIQ=='), but got an invalid base64-encoded value.`,
        param,
        code: 'invalid_value',
      }
