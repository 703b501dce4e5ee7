import { hash } from 'node:crypto'
import { type InputPlace, invalidInput } from '../base/invalid-input.js'
import type { AppLogo } from '../contracts/index.js'

const MAX_BYTES = 32 * 1_024
const MAX_PIXELS = 512
const LOGO: InputPlace = { field: 'logo' }

/**
 * Reads a logo's type and size from its bytes. Throws a `TypeError` unless it is a PNG, JPEG or WebP picture within the
 * limits.
 */
export function readAppLogo(bytes: Uint8Array): AppLogo {
  if (!(bytes instanceof Uint8Array)) throw invalidInput(LOGO, 'must be a Uint8Array')
  if (bytes.length > MAX_BYTES) throw invalidInput(LOGO, `must have at most ${MAX_BYTES / 1_024} KiB`)
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const picture = readPng(data) ?? readJpeg(data) ?? readWebp(data)
  if (picture === undefined) throw invalidInput(LOGO, 'must be a PNG, JPEG or WebP picture')
  const { type, width, height } = picture
  if (width < 1 || height < 1 || width > MAX_PIXELS || height > MAX_PIXELS) {
    throw invalidInput(LOGO, `must have at most ${MAX_PIXELS} pixels in each direction`)
  }
  return { type, hash: hash('sha256', data), bytes: data }
}

interface Picture {
  readonly type: AppLogo['type']
  readonly width: number
  readonly height: number
}

const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')

function readPng(data: Buffer): Picture | undefined {
  if (data.length < 33 || !data.subarray(0, 8).equals(PNG_SIGNATURE)) return undefined
  if (data.toString('latin1', 12, 16) !== 'IHDR') return undefined
  return { type: 'image/png', width: data.readUInt32BE(16), height: data.readUInt32BE(20) }
}

/** Reads the size from the first frame header. Every segment before it has a length. */
function readJpeg(data: Buffer): Picture | undefined {
  if (data.length < 4 || data.readUInt16BE(0) !== 0xffd8) return undefined
  let position = 2
  while (position + 9 <= data.length) {
    if (data[position] !== 0xff) return undefined
    const marker = data[position + 1]!
    if (marker === 0xff) {
      position++
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) {
      return {
        type: 'image/jpeg',
        height: data.readUInt16BE(position + 5),
        width: data.readUInt16BE(position + 7),
      }
    }
    position += 2 + data.readUInt16BE(position + 2)
  }
  return undefined
}

function readWebp(data: Buffer): Picture | undefined {
  if (data.length < 30 || data.toString('latin1', 0, 4) !== 'RIFF') return undefined
  if (data.toString('latin1', 8, 12) !== 'WEBP') return undefined
  const type = 'image/webp'
  switch (data.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { type, width: data.readUInt16LE(26) & 0x3fff, height: data.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = data.readUInt32LE(21)
      return { type, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { type, width: data.readUIntLE(24, 3) + 1, height: data.readUIntLE(27, 3) + 1 }
    default:
      return undefined
  }
}
