import { isObject, isText, type JsonObject } from '../protocol/json-values.js'
import type { Part, TextPart } from './conversation.js'
import { unsupported } from './unsupported.js'

/** What a provider that reads media itself needs. */
export const NOT_AN_ADDRESS = 'must be a "data:" URL or an "https:" URL'

/** Reads `content`: a string, an array of parts, or nothing. Empty text is omitted. */
export function readContent(content: unknown, param: string): Part[] {
  if (content === null || content === undefined || content === '') return []
  if (typeof content === 'string') return [{ type: 'text', text: content, cache: false }]
  if (!Array.isArray(content)) throw unsupported(param, `${param} must be a string or an array of parts.`)
  return content
    .map((part: unknown, index) => readPart(part, `${param}.${index}`))
    .filter((part) => part.type !== 'text' || part.text !== '')
}

/** Reads `content` that must be text alone. */
export function readText(content: unknown, param: string): TextPart[] {
  return readContent(content, param).map((part) => {
    if (part.type !== 'text') throw unsupported(part.param, `${part.param}: only text is allowed here.`)
    return part
  })
}

function readPart(part: unknown, param: string): Part {
  if (!isObject(part)) throw unsupported(param, `${param} must be an object with a "type".`)
  const cache = hasCacheMark(part)
  switch (part.type) {
    case 'text':
      return { type: 'text', text: stringIn(part, 'text', param), cache }
    case 'refusal':
      return { type: 'text', text: stringIn(part, 'refusal', param), isRefusal: true, cache }
    case 'image_url':
      return readImage(part.image_url, `${param}.image_url`, cache)
    case 'file':
      return readFile(part.file, `${param}.file`, cache)
    default:
      throw unsupported(`${param}.type`, `${param}.type: this provider does not support parts of this type.`)
  }
}

function stringIn(part: JsonObject, field: string, param: string): string {
  const value = part[field]
  if (typeof value !== 'string') throw unsupported(`${param}.${field}`, `${param}.${field} must be a string.`)
  return value
}

function readImage(image: unknown, param: string, cache: boolean): Part {
  const { detail, url } = isObject(image) ? image : { url: image }
  const field = isObject(image) ? `${param}.url` : param
  return {
    type: 'media',
    image: true,
    source: { kind: 'address', address: addressIn(url, field) },
    ...(isText(detail) && { detail }),
    cache,
    param: field,
  }
}

function readFile(file: unknown, param: string, cache: boolean): Part {
  if (!isObject(file)) throw unsupported(param, `${param} must be an object.`)
  const { file_data: data, file_id: id, filename } = file
  const field = isText(id) ? `${param}.file_id` : `${param}.file_data`
  return {
    type: 'media',
    image: false,
    source: isText(id) ? { kind: 'file', id } : { kind: 'address', address: addressIn(data, field) },
    ...(typeof filename === 'string' && { filename }),
    cache,
    param: field,
  }
}

/** Whether a message, part or tool has `cache_control`. The router accepts only the five-minute cache. */
export function hasCacheMark(part: JsonObject): boolean {
  return (part.cache_control ?? undefined) !== undefined
}

function addressIn(value: unknown, param: string): string {
  if (typeof value !== 'string') throw unsupported(param, `${param} ${NOT_AN_ADDRESS}.`)
  return value
}
