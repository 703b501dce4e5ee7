import type { MediaPart } from '../../conversation/conversation.js'
import { unsupported } from '../../conversation/unsupported.js'
import type { JsonObject } from '../../protocol/json-values.js'
import { type ReadSource, readSource } from '../openai-input/media.js'
import type { SpecificationVersion, SupportedUrls } from './specification.js'

/** A media part whose source has been read. */
interface ReadPart {
  readonly part: MediaPart
  readonly source: ReadSource
  readonly mediaType: string
}

/** Converts a media part of a user's message to the specification's form. */
export function toFilePart(part: MediaPart, version: SpecificationVersion, urls: SupportedUrls): JsonObject {
  const read = readPart(part)
  const { mediaType } = read
  return { type: 'file', mediaType, data: dataOf(read, version, urls), ...nameOf(part) }
}

/** Converts a media part of a tool result. Each version has another form. */
export function toResultPart(
  part: MediaPart,
  version: SpecificationVersion,
  urls: SupportedUrls,
): JsonObject {
  if (version === 'v4') return toFilePart(part, version, urls)
  const { mediaType, source } = readPart(part)
  const isImage = mediaType.startsWith('image/')
  if (source.kind === 'inline') {
    if (version === 'v2') return { type: 'media', data: source.base64, mediaType }
    return { type: isImage ? 'image-data' : 'file-data', data: source.base64, mediaType, ...nameOf(part) }
  }
  checkUrl(part, source.url, mediaType, urls)
  if (version === 'v2') throw needsInline(part)
  return { type: isImage ? 'image-url' : 'file-url', url: source.url }
}

function readPart(part: MediaPart): ReadPart {
  const source = readSource(part)
  return { part, source, mediaType: mediaTypeOf(part, source) }
}

function nameOf({ filename }: MediaPart): JsonObject {
  return filename === undefined ? {} : { filename }
}

function dataOf(
  { mediaType, part, source }: ReadPart,
  version: SpecificationVersion,
  urls: SupportedUrls,
): unknown {
  if (source.kind === 'inline') {
    return version === 'v4' ? { type: 'data', data: source.base64 } : source.base64
  }
  checkUrl(part, source.url, mediaType, urls)
  const url = new URL(source.url)
  return version === 'v4' ? { type: 'url', url } : url
}

/** The media type of a URL is guessed from its ending, since nothing is opened. */
function mediaTypeOf({ image }: MediaPart, source: ReadSource): string {
  if (source.kind === 'inline') return source.mediaType
  if (image) return 'image/*'
  return new URL(source.url).pathname.toLowerCase().endsWith('.pdf')
    ? 'application/pdf'
    : 'application/octet-stream'
}

/** Accepts only a URL that the provider opens itself: the model, or the AI SDK, would download any other. */
function checkUrl(part: MediaPart, url: string, mediaType: string, urls: SupportedUrls): void {
  const [family] = mediaType.split('/')
  const isTaken = Object.entries(urls).some(([pattern, expressions]) => {
    const matchesType =
      pattern === '*' ||
      pattern === '*/*' ||
      pattern === mediaType ||
      pattern === `${family}/*` ||
      (mediaType === `${family}/*` && pattern.startsWith(`${family}/`))
    // Not `test`: an expression with the flag g remembers its last position.
    return matchesType && expressions.some((expression) => url.search(expression) >= 0)
  })
  if (!isTaken) throw needsInline(part)
}

const needsInline = ({ param }: MediaPart) =>
  unsupported(
    param,
    `${param}: this provider does not open this URL; send the data inline, as a "data:" URL.`,
  )
