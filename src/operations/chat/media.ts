import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { imageSize } from './image-size.js'

const TOKENS_AN_IMAGE = 1_600
const TOKENS_A_TILE = 260
const TILE_PIXELS = 768
/** For an image of unknown size. */
const TOKENS_ANY_IMAGE = 3_000
const TOKENS_OTHER_MEDIA = 8_000

/** The types of content parts that contain media, with the member that contains it. */
const MEDIA: ReadonlyMap<unknown, string> = new Map([
  ['image_url', 'image_url'],
  ['input_image', 'image_url'],
  ['input_audio', 'input_audio'],
  ['file', 'file'],
  ['video_url', 'video_url'],
  ['audio_url', 'audio_url'],
])

/** Whether a content part is media. */
export function isMedia(part: JsonObject): boolean {
  return MEDIA.has(part.type)
}

/** Estimates the tokens of a media part, erring high. Only for an image of known size is it more than a guess. */
export function mediaTokens(part: JsonObject): number {
  const isImage = part.type === 'image_url' || part.type === 'input_image'
  if (!isImage) return TOKENS_OTHER_MEDIA
  const size = imageSize(addressOf(part))
  if (size === undefined) return TOKENS_ANY_IMAGE
  const tiles = Math.ceil(size.width / TILE_PIXELS) * Math.ceil(size.height / TILE_PIXELS)
  return Math.max(TOKENS_AN_IMAGE, TOKENS_A_TILE * tiles)
}

const TEXTUAL = /^data:(?:text\/|application\/(?:[\w.+-]*\b)?(?:json|xml|yaml|csv|javascript)\b)[^,]{0,200},/i
const LONGEST_HEAD = 512

/** Returns the text in a media part: the name of a file, and the content of a text file, which a model reads directly. */
export function mediaText(part: JsonObject): string {
  const { file } = part
  const name = isObject(file) && typeof file.filename === 'string' ? file.filename : ''
  return name + textOf(addressOf(part))
}

function addressOf(part: JsonObject): unknown {
  const held = part[MEDIA.get(part.type)!]
  if (!isObject(held)) return held
  return held.url ?? held.file_data ?? held.data
}

function textOf(address: unknown): string {
  if (typeof address !== 'string') return ''
  const head = TEXTUAL.exec(address.slice(0, LONGEST_HEAD))?.[0]
  if (head === undefined) return ''
  const held = address.slice(head.length)
  return /;base64,$/i.test(head) ? Buffer.from(held, 'base64').toString() : held
}
