export interface ImageSize {
  readonly width: number
  readonly height: number
}

/** Enough for the headers of every format. If a JPEG has longer metadata before its size, the size is unknown. */
const HEADER_BYTES = 96 * 1_024
const BASE64_ADDRESS = /^data:[^,]{0,200};base64,/i

/** Returns the size in pixels of a PNG, JPEG, GIF or WebP image in a `data:` URL. Undefined if it cannot be read. */
export function imageSize(address: unknown): ImageSize | undefined {
  if (typeof address !== 'string') return undefined
  const start = BASE64_ADDRESS.exec(address.slice(0, 256))?.[0].length
  if (start === undefined) return undefined
  const bytes = Buffer.from(address.slice(start, start + (HEADER_BYTES * 4) / 3), 'base64')
  const size = readPng(bytes) ?? readGif(bytes) ?? readWebp(bytes) ?? readJpeg(bytes)
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined
}

function says(bytes: Buffer, at: number, text: string): boolean {
  return bytes.toString('latin1', at, at + text.length) === text
}

function readPng(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 24 || !says(bytes, 0, '\x89PNG\r\n\x1a\n') || !says(bytes, 12, 'IHDR')) return undefined
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function readGif(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 10 || (!says(bytes, 0, 'GIF87a') && !says(bytes, 0, 'GIF89a'))) return undefined
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

/** The three kinds of WebP have their size in different places. */
function readWebp(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30 || !says(bytes, 0, 'RIFF') || !says(bytes, 8, 'WEBP')) return undefined
  if (says(bytes, 12, 'VP8X')) {
    return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  }
  if (says(bytes, 12, 'VP8L')) {
    const packed = bytes.readUInt32LE(21)
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
  }
  if (!says(bytes, 12, 'VP8 ')) return undefined
  return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
}

/** Skips segments up to the frame header, which contains the size. */
function readJpeg(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined
  let at = 2
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined
    const marker = bytes[at + 1]!
    if (marker === 0xff) {
      at++
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    at += 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return undefined
}
