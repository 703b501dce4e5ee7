import type { MediaPart, MediaSource } from '../../conversation/conversation.js'
import { NOT_AN_ADDRESS } from '../../conversation/read-chat-content.js'
import { unsupported } from '../../conversation/unsupported.js'

/** The source of an image or a file at an API that takes inline data, or a URL that the provider opens. */
export type ReadSource =
  | Extract<MediaSource, { kind: 'inline' }>
  | { readonly kind: 'url'; readonly url: string }

/** Reads the source of a part. Anything else than data or an `https:` URL throws `unsupported-request`. */
export function readSource({ param, source }: MediaPart): ReadSource {
  if (source.kind === 'inline') return source
  if (source.kind === 'file') throw unsupported(param, `${param}: send the file itself, as "file_data".`)
  const value = source.address
  const scheme = value.slice(0, 8).toLowerCase()
  if (scheme.startsWith('data:')) return readInline(value, param)
  if (scheme === 'https://' && URL.canParse(value)) return { kind: 'url', url: value }
  throw unsupported(param, `${param} ${NOT_AN_ADDRESS}.`)
}

function readInline(value: string, param: string): ReadSource {
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
