import { unsupported } from './unsupported.js'

/** The source of an image or a file: inline data, or a URL that the provider may open. This process never opens it. */
export type MediaSource =
  | { readonly kind: 'inline'; readonly mediaType: string; readonly base64: string }
  | { readonly kind: 'url'; readonly url: string }

const NOT_AN_ADDRESS = 'must be a "data:" URL or an "https:" URL'

/** Reads a `data:` or `https:` URL. Anything else throws `unsupported-request`. Nothing is ever opened. */
export function readMedia(value: unknown, param: string): MediaSource {
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
