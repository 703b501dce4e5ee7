import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { readAppLogo } from '../../src/admin/app-logos.js'
import { jpegOf, pngOf, webpOf } from '../helpers/pictures.js'

describe("an app's logo", () => {
  it.each([
    ['PNG', 'image/png', pngOf],
    ['JPEG', 'image/jpeg', jpegOf],
    ['lossy WebP', 'image/webp', (width: number, height: number) => webpOf('VP8 ', width, height)],
    ['lossless WebP', 'image/webp', (width: number, height: number) => webpOf('VP8L', width, height)],
    ['extended WebP', 'image/webp', (width: number, height: number) => webpOf('VP8X', width, height)],
  ] as const)('is read as %s up to 512 pixels', (_, type, make) => {
    const bytes = make(512, 512)
    expect(readAppLogo(bytes)).toEqual({ type, hash: hash('sha256', bytes), bytes })
    expect(() => readAppLogo(make(513, 1))).toThrow('logo: must have at most 512 pixels')
    expect(() => readAppLogo(make(1, 513))).toThrow('logo: must have at most 512 pixels')
  })

  it.each([
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')],
    ['HTML', Buffer.from('<!doctype html><script>alert(1)</script>')],
    ['GIF', Buffer.from('GIF89a\x01\x00\x01\x00')],
    ['nothing', Buffer.alloc(0)],
    ['a PNG that is cut off', pngOf(1, 1).subarray(0, 20)],
    ['a JPEG that is cut off', jpegOf(1, 1).subarray(0, 8)],
    ['a JPEG with a segment that never ends', Buffer.from('ffd8ffe00000ffe00000ffe00000', 'hex')],
  ])('is refused if the file is %s', (_, bytes) => {
    expect(() => readAppLogo(bytes)).toThrow('logo: must be a PNG, JPEG or WebP picture')
  })

  it('is refused if it is larger than 32 KiB or not bytes', () => {
    const large = Buffer.concat([pngOf(1, 1), Buffer.alloc(32 * 1_024)])
    expect(() => readAppLogo(large)).toThrow('logo: must have at most 32 KiB')
    expect(() => readAppLogo('https://example.com/logo.png' as never)).toThrow('logo: must be a Uint8Array')
  })
})
