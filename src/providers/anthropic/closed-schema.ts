import { withDigits } from '../../protocol/exact-data.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'

/** Members whose values are schemas by name. */
const BY_NAME = ['properties', '$defs', 'definitions'] as const
/** Members that are a schema or a list of schemas. */
const WITHIN = ['items', 'prefixItems', 'anyOf', 'allOf', 'oneOf'] as const

/**
 * Returns a schema whose objects have only the properties that they name, as Claude demands of each. Objects that say
 * something else about others are left for Claude to refuse. Returns the same schema if all objects are closed.
 */
export function closedSchema(schema: JsonObject): JsonObject {
  return isClosed(schema) ? schema : closed(withDigits(schema))
}

const isOpen = ({ additionalProperties, properties }: JsonObject): boolean =>
  isObject(properties) && additionalProperties === undefined

function isClosed(schema: JsonObject): boolean {
  return !isOpen(schema) && innerSchemas(schema).every(isClosed)
}

function innerSchemas(schema: JsonObject): readonly JsonObject[] {
  const named = BY_NAME.flatMap((name) => Object.values(isObject(schema[name]) ? schema[name] : {}))
  const within = WITHIN.flatMap((name) => schema[name])
  return [...named, ...within].filter(isObject)
}

function closed(schema: JsonObject): JsonObject {
  const copy: JsonObject = { ...schema }
  for (const name of BY_NAME) {
    const schemas = schema[name]
    if (!isObject(schemas)) continue
    copy[name] = Object.fromEntries(
      Object.entries(schemas).map(([key, inner]) => [key, isObject(inner) ? closed(inner) : inner]),
    )
  }
  for (const name of WITHIN) {
    const inner = schema[name]
    if (Array.isArray(inner)) copy[name] = inner.map((one) => (isObject(one) ? closed(one) : one))
    else if (isObject(inner)) copy[name] = closed(inner)
  }
  if (isOpen(schema)) copy.additionalProperties = false
  return copy
}
