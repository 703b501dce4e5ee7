import type { MadeImage } from '../../conversation/delta.js'
import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { urlCitation } from '../../protocol/url-citation.js'

/** Converts a generated image to the form that clients read. A reply cannot contain other files. */
export function toImage(file: JsonObject): MadeImage | undefined {
  const mediaType = textOf(file.mediaType)
  if (mediaType === undefined || !mediaType.startsWith('image/')) return undefined
  const data = isObject(file.data) && !(file.data instanceof Uint8Array) ? file.data : { data: file.data }
  if (data.url instanceof URL) return imageAt(data.url.href)
  if (data.data instanceof Uint8Array)
    return imageAt(inline(mediaType, Buffer.from(data.data).toString('base64')))
  return typeof data.data === 'string' ? imageAt(inline(mediaType, data.data)) : undefined
}

function imageAt(address: string): MadeImage {
  return { type: 'image', choice: 0, address, image: { type: 'image_url', image_url: { url: address } } }
}

const inline = (mediaType: string, base64: string) => `data:${mediaType};base64,${base64}`

/** Converts a source with a URL to an annotation. */
export function toAnnotation(source: JsonObject): JsonObject | undefined {
  const url = textOf(source.url)
  if (url === undefined) return undefined
  return urlCitation(url, { title: source.title })
}

/** Returns the arguments of a call as JSON text. Never empty, since clients expect an object. */
export function toArguments(input: unknown): string {
  if (typeof input === 'string') return input.trim() === '' ? '{}' : input
  return input === undefined || input === null ? '{}' : JSON.stringify(input)
}
