import type { MediaSource, Part, TextPart } from '../../conversation/conversation.js'
import { isObject, isText, type JsonObject } from '../../protocol/json-values.js'
import { unsupported } from './unsupported.js'

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
    source: readMedia(url, field),
    ...(isText(detail) && { detail }),
    cache,
    param: field,
  }
}

function readFile(file: unknown, param: string, cache: boolean): Part {
  if (!isObject(file)) throw unsupported(param, `${param} must be an object.`)
  if (file.file_id !== undefined && file.file_id !== null) {
    throw unsupported(`${param}.file_id`, `${param}.file_id: send the file itself, as "file_data".`)
  }
  const field = `${param}.file_data`
  const source = readMedia(file.file_data, field)
  const filename = typeof file.filename === 'string' ? { filename: file.filename } : {}
  return { type: 'media', image: false, source, ...filename, cache, param: field }
}

/** Whether a message, part or tool has `cache_control`. The router accepts only the five-minute cache. */
export function hasCacheMark(part: JsonObject): boolean {
  return (part.cache_control ?? undefined) !== undefined
}

const NOT_AN_ADDRESS = 'must be a "data:" URL or an "https:" URL'

/** Reads a `data:` or `https:` URL. Anything else throws `unsupported-request`. Nothing is ever opened. */
function readMedia(value: unknown, param: string): MediaSource {
  if (typeof value !== 'string') throw unsupported(param, `${param} ${NOT_AN_ADDRESS}.`)
  const scheme = value.slice(0, 8).toLowerCase()
  if (scheme.startsWith('data:')) return readInline(value, param)
  if (scheme === 'https://' && URL.canParse(value)) return { kind: 'url', url: value }
  throw unsupported(param, `${param} ${NOT_AN_ADDRESS}.`)
}

function readInline(value: string, param: string): MediaSource {
  const comma = value.indexOf(',')
  const [mediaType = '', ...settings] = comma < 0 ? [] : value.slice('data:'.length, comma).split(';')
  if (comma < 0 || !mediaType.includes('/')) {
    throw unsupported(param, `${param} must name its media type, as in "data:image/png;base64,…".`)
  }
  const data = value.slice(comma + 1)
  const isBase64 = settings.some((setting) => setting.trim().toLowerCase() === 'base64')
  return {
    kind: 'inline',
    mediaType: mediaType.trim().toLowerCase(),
    base64: isBase64 ? data : encodePercentEncoded(data, param),
  }
}

function encodePercentEncoded(data: string, param: string): string {
  try {
    return Buffer.from(decodeURIComponent(data)).toString('base64')
  } catch {
    throw unsupported(param, `${param} is a malformed "data:" URL; send it with ";base64".`)
  }
}
