import { describe, expect, it } from 'vitest'
import { imageSize } from '../../src/operations/chat/image-size.js'

const address = (bytes: Buffer, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`
const latin1 = (text: string) => Buffer.from(text, 'latin1')

const PNG = Buffer.concat([latin1('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'), Buffer.from([0, 0, 4, 0, 0, 0, 3, 0])])
const GIF = Buffer.concat([latin1('GIF89a'), Buffer.from([0, 4, 0, 3])])
const EXIF = Buffer.concat([Buffer.from([0xff, 0xe1, 0, 20]), Buffer.alloc(18, 0xff)])
const FRAME = Buffer.from([0xff, 0xc2, 0, 17, 8, 3, 0, 4, 0, 3])
const JPEG = Buffer.concat([Buffer.from([0xff, 0xd8]), EXIF, Buffer.from([0xff]), FRAME])
const webp = (kind: string, rest: readonly number[]) =>
  Buffer.concat([latin1(`RIFF\0\0\0\0WEBP${kind}`), Buffer.from(rest), Buffer.alloc(16)])
const VP8X = webp('VP8X', [...[0, 0, 0, 0], ...[0, 0, 0, 0], ...[0xff, 3, 0], ...[0xff, 2, 0]])
const VP8L = webp('VP8L', [0, 0, 0, 0, 0x2f, ...[0xff, 0xc3, 0xbf, 0x00]])
const VP8 = webp('VP8 ', [...[0, 0, 0, 0], ...[0, 0, 0, 0x9d, 0x01, 0x2a], ...[0, 4, 0, 3]])

describe('the size of an image', () => {
  it.each([
    ['PNG', PNG],
    ['GIF', GIF],
    ['JPEG, after its metadata', JPEG],
    ['WebP', VP8],
    ['WebP without losses', VP8L],
    ['WebP with extras', VP8X],
  ])('is read from a %s', (_, bytes) => {
    expect(imageSize(address(bytes))).toEqual({ width: 1_024, height: 768 })
    expect(imageSize(address(bytes, 'application/x;name=a'))).toEqual({ width: 1_024, height: 768 })
  })

  it('is unknown for incomplete, empty, remote and other data', () => {
    for (const bytes of [PNG, GIF, JPEG, VP8, VP8L, VP8X]) {
      for (let length = 0; length < 10; length++)
        expect(imageSize(address(bytes.subarray(0, length)))).toBeUndefined()
    }
    const flat = Buffer.from(PNG)
    flat.writeUInt32BE(0, 16)
    for (const other of [address(flat), 'data:,PNG', 'https://example.com/a.png', '', 7, null]) {
      expect(imageSize(other)).toBeUndefined()
    }
    const endless = Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(200_000, 0xff)])
    expect(imageSize(address(endless))).toBeUndefined()
    const nothingBut = Buffer.concat([
      Buffer.from([0xff, 0xd8]),
      ...Array.from({ length: 1_000 }, () => Buffer.from([0xff, 0xe0, 0, 0])),
    ])
    expect(imageSize(address(nothingBut))).toBeUndefined()
  })
})
