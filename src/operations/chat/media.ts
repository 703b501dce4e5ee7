import type { Model } from '../../contracts/catalogue.js'
import { isObject, type JsonObject } from '../../protocol/json-values.js'
import { declaredKind, type FileKind, HEAD_BYTES, recognisedKinds } from './file-kinds.js'
import { imageSize } from './image-size.js'

const TOKENS_AN_IMAGE = 1_600
const TOKENS_A_TILE = 260
const TILE_PIXELS = 768
/** Used for an image of unknown size. */
const TOKENS_ANY_IMAGE = 3_000
const TOKENS_OTHER_MEDIA = 8_000

/** The types of content parts with media, and the member that contains it. */
const MEDIA: ReadonlyMap<unknown, string> = new Map([
  ['image_url', 'image_url'],
  ['input_image', 'image_url'],
  ['input_audio', 'input_audio'],
  ['file', 'file'],
  ['video_url', 'video_url'],
  ['audio_url', 'audio_url'],
])
/** The kind of each type, wherever its bytes are. A file may be of any kind. */
const KINDS: ReadonlyMap<unknown, FileKind> = new Map([
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['input_audio', 'audio'],
  ['audio_url', 'audio'],
  ['video_url', 'video'],
])

/** Whether a content part is media. */
export function isMedia(part: JsonObject): boolean {
  return MEDIA.has(part.type)
}

/** Estimates the tokens of a media part, erring high. It is a mere guess unless the part is an image of known size. */
export function mediaTokens(part: JsonObject, { mediaTokens: listed }: Model): number {
  if (typeof listed === 'number') return listed
  const kind = KINDS.get(part.type) ?? inlineBytes(part)?.declared
  const ofKind = kind === undefined ? undefined : listed?.[kind]
  if (ofKind !== undefined) return ofKind
  if (KINDS.get(part.type) !== 'image') return TOKENS_OTHER_MEDIA
  const size = imageSize(addressOf(part))
  if (size === undefined) return TOKENS_ANY_IMAGE
  const tiles = Math.ceil(size.width / TILE_PIXELS) * Math.ceil(size.height / TILE_PIXELS)
  return Math.max(TOKENS_AN_IMAGE, TOKENS_A_TILE * tiles)
}

/** The bound on the tokens of a media part. */
export interface MediaBound {
  /** The most tokens that the part has if it is not read as text. Undefined if the catalogue has no bound. */
  readonly tokens: number | undefined
  /** The text that a model may read instead. Empty if the part is certainly media. */
  readonly text: string
}

const MEDIA_KINDS = ['image', 'audio', 'video'] as const

/**
 * Returns the bound of a media part. Its bytes count as media only if they are both declared and recognised as such,
 * since providers may read any others as text. A remote file may be of any kind and length.
 */
export function mediaBound(part: JsonObject, model: Model): MediaBound {
  const inline = inlineBytes(part)
  if (inline === undefined) {
    const kind = KINDS.get(part.type)
    return { tokens: kind === undefined ? model.contextLength : mostTokens([kind], model), text: '' }
  }
  const { declared } = inline
  // A provider may read the settings that were not read here.
  if (inline.head === 'long') return { tokens: model.contextLength, text: '' }
  const recognised = recognisedKinds(inline.bytes(HEAD_BYTES))
  if (declared !== undefined && recognised.has(declared)) {
    return { tokens: mostTokens(recognised, model), text: '' }
  }
  const kinds = declared === undefined ? recognised : new Set(recognised).add(declared)
  const bytes = inline.bytes()
  // No byte of another charset becomes more than three of UTF-8, as many as the replacement character has.
  const text = inline.head === 'foreign' ? REPLACEMENT.repeat(bytes.length) : textOf(bytes)
  return { tokens: mostTokens(kinds, model), text }
}

/** Returns the most tokens that one file of these kinds can have. Without kinds, returns that of an unknown file. */
function mostTokens(kinds: Iterable<FileKind>, { contextLength, mediaTokens: listed }: Model) {
  const each = [...kinds].map((kind) => {
    if (typeof listed === 'object') return listed[kind] ?? contextLength
    return kind === 'pdf' || kind === 'archive' ? contextLength : (listed ?? contextLength)
  })
  if (each.length === 0) {
    const named = typeof listed === 'object' ? MEDIA_KINDS.map((kind) => listed[kind]) : [listed]
    const known = named.filter((tokens) => tokens !== undefined)
    each.push(known.length === 0 ? contextLength : Math.max(...known))
  }
  const known = each.filter((tokens) => tokens !== undefined)
  return known.length < each.length ? undefined : Math.max(...known)
}

/** Returns the name of a file, which the model may read. */
export function fileName({ file }: JsonObject): string {
  return isObject(file) && typeof file.filename === 'string' ? file.filename : ''
}

const TEXTUAL = /^data:(?:text\/|application\/(?:[\w.+-]*\b)?(?:json|xml|yaml|csv|javascript)\b)[^,]{0,200},/i
const LONGEST_HEAD = 512

/** Returns the text in a media part: the name of a file, and the content of a text file, which a model reads directly. */
export function mediaText(part: JsonObject): string {
  const name = fileName(part)
  const address = addressOf(part)
  if (typeof address !== 'string') return name
  const head = TEXTUAL.exec(address.slice(0, LONGEST_HEAD))?.[0]
  if (head === undefined) return name
  const held = address.slice(head.length)
  return name + (/;base64,$/i.test(head) ? Buffer.from(held, 'base64').toString() : held)
}

function addressOf(part: JsonObject): unknown {
  const held = part[MEDIA.get(part.type)!]
  if (!isObject(held)) return held
  return held.url ?? held.file_data ?? held.data
}

/** The bytes of a part that contains them. */
interface InlineBytes {
  readonly declared: FileKind | undefined
  /** `foreign` if text is said to be neither UTF-8 nor ASCII, `long` if there are too many settings to read. */
  readonly head: 'plain' | 'foreign' | 'long'
  /** @param first the number of bytes to read. Returns fewer if anything else is between them */
  bytes(first?: number): Buffer
}

/** Returns undefined if the bytes are elsewhere: at an address or under an id. */
function inlineBytes(part: JsonObject): InlineBytes | undefined {
  const address = addressOf(part)
  const held = part[MEDIA.get(part.type)!]
  const hasId = isObject(held) && (held.file_id ?? undefined) !== undefined
  if (typeof address !== 'string' || hasId || /^https:/i.test(address)) return undefined
  const name = fileName(part)
  if (!/^data:/i.test(address)) {
    const format = isObject(held) && typeof held.format === 'string' ? held.format : undefined
    const declared = declaredKind(format === undefined ? '' : `audio/${format}`, name)
    return { declared, head: 'plain', bytes: (first) => decodeBase64(address, first) }
  }
  const comma = address.indexOf(',')
  const head = address.slice('data:'.length, Math.min(Math.max(0, comma), LONGEST_HEAD))
  const [mediaType = '', ...settings] = head.split(';')
  const data = address.slice(comma + 1)
  const isBase64 = settings.some((setting) => setting.trim().toLowerCase() === 'base64')
  return {
    declared: declaredKind(mediaType, name),
    head: comma > LONGEST_HEAD ? 'long' : settings.some((each) => FOREIGN.test(each)) ? 'foreign' : 'plain',
    bytes: (first) => (isBase64 ? decodeBase64(data, first) : decodePercent(data, first)),
  }
}

/** Unlike `Buffer.from`, continues after `=`. */
function decodeBase64(data: string, first?: number): Buffer {
  const read = first === undefined ? data : data.slice(0, Math.ceil(first / 3) * 4)
  const padding = read.indexOf('=')
  // Most data has padding at its end alone.
  const isWhole = padding === -1 || padding >= read.length - MOST_PADDING
  return Buffer.from(isWhole ? read : withoutPadding(read), 'base64')
}

const MOST_PADDING = 2
const EQUALS = 0x3d

function withoutPadding(data: string): string {
  const bytes = Buffer.from(data)
  let length = 0
  for (const byte of bytes) if (byte !== EQUALS) bytes[length++] = byte
  return bytes.toString('latin1', 0, length)
}

const FOREIGN = /^\s*charset\s*=\s*(?!["']?(?:utf-?8|us-ascii)["']?\s*$)/i
const REPLACEMENT = '\ufffd'

const LONGEST_ESCAPE = '%00'.length
const PERCENT = 0x25

function decodePercent(data: string, first?: number): Buffer {
  const bytes = Buffer.from(first === undefined ? data : data.slice(0, first * LONGEST_ESCAPE))
  let length = 0
  for (let at = 0; at < bytes.length; length++) {
    const byte = bytes[at]!
    const escaped = byte === PERCENT ? hexDigit(bytes[at + 1]) * 16 + hexDigit(bytes[at + 2]) : Number.NaN
    const isEscape = !Number.isNaN(escaped)
    bytes[length] = isEscape ? escaped : byte
    at += isEscape ? LONGEST_ESCAPE : 1
  }
  return bytes.subarray(0, length)
}

/** Returns the value of a hexadecimal digit, and NaN for anything else. */
function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return Number.NaN
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : Number.NaN
}

/** Invalid bytes count as the three bytes of their replacement character. */
function textOf(bytes: Buffer): string {
  const start = bytes.toString('hex', 0, 2)
  if (start === 'fffe') return bytes.toString('utf16le')
  if (start === 'feff')
    return Buffer.from(bytes.subarray(0, bytes.length & ~1))
      .swap16()
      .toString('utf16le')
  return bytes.toString()
}
