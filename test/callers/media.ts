import type { Random } from '../simulation/random.js'

/**
 * Media as content parts. If they are sent as an address, only the provider sees their size. `tokensOf` is
 * the provider's bill for one: by its pixels, pages or seconds.
 */
export interface MediaPart {
  readonly type: string
  readonly [field: string]: unknown
}

const TOKENS_A_TILE = 258
const TILE = 768
const TOKENS_A_PAGE = 760
const TOKENS_A_SECOND_OF_AUDIO = 32
const TOKENS_A_SECOND_OF_VIDEO = 263

const SIDES = [1, 64, 768, 769, 1_024, 2_048, 4_096, 8_000]

export function makeMedia(random: Random): MediaPart {
  const address = (what: string, size: number | string) =>
    `https://files.example.org/${random.int(1, 1e6)}/${what}?size=${size}`
  switch (random.int(0, 9)) {
    case 7:
    case 8:
      return makeFile(random)
    case 9: {
      const pages = random.int(1, 900)
      return fileOf('a.docx', `data:${OFFICE};base64,${archive(pages).toString('base64')}`)
    }
    case 0:
    case 1: {
      const url = `data:image/png;base64,${png(random.pick(SIDES), random.pick(SIDES)).toString('base64')}`
      return { type: 'image_url', image_url: random.chance(0.2) ? url : { url, detail: 'high' } }
    }
    case 2:
      return {
        type: 'image_url',
        image_url: { url: address('a.jpg', `${random.pick(SIDES)}x${random.pick(SIDES)}`) },
      }
    case 3:
      return { type: 'file', file: { filename: 'a.pdf', file_data: address('a.pdf', random.int(1, 900)) } }
    case 4: {
      const pages = random.int(1, 40)
      const data = `data:application/pdf;base64,${pdf(pages).toString('base64')}`
      return { type: 'file', file: { filename: 'a.pdf', file_data: data } }
    }
    case 5:
      return {
        type: 'input_audio',
        input_audio: { data: audio(random.int(1, 3_600)).toString('base64'), format: 'mp3' },
      }
    default:
      return random.chance(0.5)
        ? { type: 'video_url', video_url: { url: address('a.mp4', random.int(1, 3_600)) } }
        : { type: 'audio_url', audio_url: { url: address('a.mp3', random.int(1, 3_600)) } }
  }
}

const OFFICE = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'

const fileOf = (filename: string, file_data: string): MediaPart => ({
  type: 'file',
  file: { filename, file_data },
})

/** The types that a file is said to have, rightly or not. The last is that of a file without any. */
const DECLARED = [
  ...['text/plain', 'text/x-python', 'application/x-python', 'application/octet-stream', 'application/json'],
  ...['application/pdf', 'image/png', 'audio/mpeg', 'video/mp4', 'x/y', ''],
]
const NAMES = ['a.py', 'a.txt', 'a', 'a.pdf', 'a.png', 'a.mp3', 'a.docx', 'a.bin', 'a.csv']
/** Beginnings that make a script look like something else. */
const BEGINNINGS: readonly string[] = [
  ...[
    '',
    '',
    '',
    '%PDF-1.4\n',
    '#!/usr/bin/python\n',
    'PK\x03\x04',
    'GIF89a=1\n',
    '\x89PNG\r\n\x1a\n',
    'ID3\x04',
  ],
  ...['RIFF....WAVE', '<svg>', '\xff\xd8\xff\n'],
]
const LINES = [
  'for i in range(10_000):\n    print(i * 7, "\\t", chr(i))\n',
  '{"a":[1,22,333],"b":{"c":null}}\n',
  'x,y,z\n1,2,3\n\u4f60\u597d,\u00e9,\u{1f600}\n',
  '((((((((\n))))))))\n',
]

/** A text of some thousand tokens, perhaps behind the beginning of another kind of file. */
function makeFile(random: Random): MediaPart {
  const text = random.pick(LINES).repeat(random.pick([1, 40, 400, 1_500]))
  const bytes = Buffer.concat([Buffer.from(random.pick(BEGINNINGS), 'latin1'), Buffer.from(text)])
  const data = bytes.toString('base64')
  const type = random.pick(DECLARED)
  const name = random.pick(NAMES)
  if (random.chance(0.15)) return fileOf(name, data)
  if (random.chance(0.1)) return fileOf(name, `data:${type},${encodeURIComponent(text)}`)
  return fileOf(name, `data:${type};base64,${data}`)
}

interface HeldFile {
  readonly type: string
  readonly name: string
  readonly bytes: Buffer
}

/** The file in a part, if its bytes are there. */
function heldFile(part: Readonly<Record<string, unknown>>): HeldFile | undefined {
  const held = part.type === 'document' ? part.source : part.type === 'file' ? part.file : undefined
  if (typeof held !== 'object' || held === null) return undefined
  const { data, file_data: address = data, filename, media_type: type, type: form } = held as HeldFields
  if (typeof address !== 'string' || /^https?:/.test(address)) return undefined
  if (form === 'text') return { type: 'text/plain', name: '', bytes: Buffer.from(address) }
  const declared = type ?? /^data:([^;,]*)/.exec(address)?.[1] ?? ''
  return { type: String(declared), name: String(filename ?? part.title ?? ''), bytes: bytesOf(address) }
}

type HeldFields = Readonly<
  Partial<Record<'data' | 'file_data' | 'filename' | 'media_type' | 'type' | 'title', unknown>>
>

const PICTURE = /^(\x89PNG\r\n|GIF89a|\xff\xd8\xff)/
const RECORDING = /^(ID3|RIFF....WAVE)/
const WHOLE_DOCUMENT = /^(%PDF-[\s\S]*\/Count \d|PK[\s\S]*pages=\d)/

/**
 * The text of a file that a provider reads as one: of each that is not said by its type and its name, and shown by its
 * first bytes, to be something else. A provider may go by any of these.
 */
export function fileText(part: Readonly<Record<string, unknown>>): string | undefined {
  const file = heldFile(part)
  if (file === undefined) return undefined
  const { bytes, name, type } = file
  const text = bytes.toString('latin1')
  const is = (types: RegExp, names: RegExp, shown: RegExp): boolean =>
    shown.test(text) &&
    (type === '' ? names.test(name) : types.test(type) && (!name.includes('.') || names.test(name)))
  const isMedia = is(/^image\/(?!svg)/, /\.png$/, PICTURE) || is(/^audio\//, /\.mp3$/, RECORDING)
  return isMedia || WHOLE_DOCUMENT.test(text) ? undefined : bytes.toString()
}

/** The tokens that a provider bills for a part, 0 if it is not media. */
export function mediaTokens(part: Readonly<Record<string, unknown>>): number {
  if (fileText(part) !== undefined) return 0
  const of = (name: string): Record<string, unknown> => {
    const value = part[name]
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : { url: value }
  }
  switch (part.type) {
    case 'image_url':
    case 'input_image':
      return imageTokens(String(of('image_url').url))
    case 'image':
      return imageTokens(String(of('source').data ?? of('source').url))
    case 'file':
      return TOKENS_A_PAGE * pagesOf(String(of('file').file_data ?? of('file').file_url))
    case 'document':
      return TOKENS_A_PAGE * pagesOf(String(of('source').data ?? of('source').url))
    case 'input_audio':
      return TOKENS_A_SECOND_OF_AUDIO * secondsOf(String(of('input_audio').data))
    case 'audio_url':
      return TOKENS_A_SECOND_OF_AUDIO * sizeIn(String(of('audio_url').url))
    case 'video_url':
      return TOKENS_A_SECOND_OF_VIDEO * sizeIn(String(of('video_url').url))
    default:
      return 0
  }
}

function imageTokens(address: string): number {
  const [width, height] = dimensions(address)
  return TOKENS_A_TILE * Math.ceil(width / TILE) * Math.ceil(height / TILE)
}

function dimensions(address: string): [number, number] {
  const stated = /[?&]size=(\d+)x(\d+)/.exec(address)
  if (stated !== null) return [Number(stated[1]), Number(stated[2])]
  const bytes = bytesOf(address)
  return bytes.length < 24 ? [TILE, TILE] : [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
}

function pagesOf(address: string): number {
  if (/^https?:/.test(address)) return sizeIn(address)
  return Number(/(?:\/Count |pages=)(\d+)/.exec(bytesOf(address).toString('latin1'))?.[1] ?? 1)
}

function secondsOf(data: string): number {
  const bytes = bytesOf(data)
  return bytes.length < 8 ? 1 : bytes.readUInt32BE(4)
}

function sizeIn(address: string): number {
  return Number(/[?&]size=(\d+)/.exec(address)?.[1] ?? 1)
}

function bytesOf(address: string): Buffer {
  const held = address.slice(address.indexOf(',') + 1)
  if (/^data:[^,]*(?<!;base64),/.test(address)) return Buffer.from(decodeURIComponent(held))
  return Buffer.from(held, 'base64')
}

/** The head of an image. Nothing here reads more of it. */
function png(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(33)
  bytes.write('89504e470d0a1a0a0000000d49484452', 'hex')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  bytes.writeUInt8(8, 24)
  bytes.writeUInt8(2, 25)
  return bytes
}

function pdf(pages: number): Buffer {
  return Buffer.from(
    `%PDF-1.4\n1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj\n2 0 obj <</Type /Pages /Count ${pages} /Kids []>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF`,
  )
}

/** An archive whose pages are stated, as in the properties of an Office file. */
function archive(pages: number): Buffer {
  return Buffer.from(`PK\x03\x04\x14\0\0\0docProps/app.xml pages=${pages} PK\x05\x06`)
}

function audio(seconds: number): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.write('ID3\x04')
  bytes.writeUInt32BE(seconds, 4)
  return bytes
}
