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
  switch (random.int(0, 6)) {
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

/** The tokens that a provider bills for a part, 0 if it is not media. */
export function mediaTokens(part: Readonly<Record<string, unknown>>): number {
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
  return Number(/\/Count (\d+)/.exec(bytesOf(address).toString('latin1'))?.[1] ?? 1)
}

function secondsOf(data: string): number {
  const bytes = bytesOf(data)
  return bytes.length < 8 ? 1 : bytes.readUInt32BE(4)
}

function sizeIn(address: string): number {
  return Number(/[?&]size=(\d+)/.exec(address)?.[1] ?? 1)
}

function bytesOf(address: string): Buffer {
  return Buffer.from(address.slice(address.indexOf(',') + 1), 'base64')
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

function audio(seconds: number): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.write('ID3\x04')
  bytes.writeUInt32BE(seconds, 4)
  return bytes
}
