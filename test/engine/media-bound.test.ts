import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { MediaTokens, Model } from '../../src/contracts/catalogue.js'
import { mediaBound } from '../../src/operations/chat/media.js'
import { cpuMsOf } from '../helpers/cpu-time.js'

const CONTEXT = 100_000
const model = (mediaTokens?: number | MediaTokens): Model => ({
  id: 'm',
  created: 0,
  ownedBy: 'acme',
  contextLength: CONTEXT,
  ...(mediaTokens !== undefined && { mediaTokens }),
})
const LISTED = model(70)

const file = (data: string, filename?: string) => ({
  type: 'file',
  file: { file_data: data, ...(filename !== undefined && { filename }) },
})
const inline = (type: string, bytes: Buffer | string) =>
  `data:${type};base64,${Buffer.from(bytes as string, 'latin1').toString('base64')}`
const bytes = (hexadecimal: string, rest = '') =>
  Buffer.concat([Buffer.from(hexadecimal, 'hex'), Buffer.from(rest)])

const SCRIPT = 'print("hello")\n'.repeat(100)
const PNG = bytes('89504e470d0a1a0a', 'x'.repeat(300))
const media = (tokens: number) => ({ tokens, text: '' })
const textOrMedia = (tokens: number, text: string) => ({ tokens, text })

describe('bytes both declared and recognised as', () => {
  it.each<[what: string, type: string, start: Buffer]>([
    ['a PNG', 'image/png', PNG],
    ['a JPEG', 'image/jpeg', bytes('ffd8ffe0')],
    ['a GIF', 'image/gif', Buffer.from('GIF89a')],
    ['a WebP', 'image/webp', Buffer.from('RIFF\0\0\0\0WEBPVP8 ')],
    ['a HEIC', 'image/heic', Buffer.from('\0\0\0\x18ftypheic')],
    ['an MP3', 'audio/mpeg', Buffer.from('ID3\x04')],
    ['an MP3 without a title', 'audio/mpeg', bytes('fffb9064')],
    ['a WAV', 'audio/wav', Buffer.from('RIFF\0\0\0\0WAVEfmt ')],
    ['an M4A', 'audio/mp4', Buffer.from('\0\0\0\x18ftypM4A ')],
    ['an MP4', 'video/mp4', Buffer.from('\0\0\0\x18ftypisom')],
    ['a WebM', 'video/webm', bytes('1a45dfa3')],
  ])('%s are media', (_, type, start) => {
    expect(mediaBound(file(inline(type, start)), LISTED)).toEqual(media(70))
    const kind = type.split('/')[0]!
    const named = model({ image: 9, audio: 9, video: 9, [kind]: 50 })
    expect(mediaBound(file(inline(type, start)), named)).toEqual(media(50))
  })

  it.each<[what: string, type: string, start: Buffer, kind: 'pdf' | 'archive']>([
    ['a PDF', 'application/pdf', Buffer.from('%PDF-1.7 ...'), 'pdf'],
    ['a PDF after other bytes', 'application/pdf', Buffer.from('\n\n%PDF-1.7 ...'), 'pdf'],
    ['a ZIP', 'application/zip', Buffer.from('PK\x03\x04'), 'archive'],
    ['a gzip', 'application/gzip', gzipSync(SCRIPT), 'archive'],
    ['a 7z', 'application/x-7z-compressed', bytes('377abcaf271c'), 'archive'],
    ['a RAR', 'application/vnd.rar', Buffer.from('Rar!\x1a\x07'), 'archive'],
    ['a tar', 'application/x-tar', Buffer.from(`${'a'.repeat(257)}ustar`), 'archive'],
    [
      'an Office file',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      Buffer.from('PK\x03\x04'),
      'archive',
    ],
    ['an older Office file', 'application/msword', bytes('d0cf11e0a1b11ae1'), 'archive'],
  ])('%s may take the whole context, unless the catalogue names their kind', (_, type, start, kind) => {
    const part = file(inline(type, start))
    expect(mediaBound(part, LISTED)).toEqual(media(CONTEXT))
    expect(mediaBound(part, model({ image: 70 }))).toEqual(media(CONTEXT))
    expect(mediaBound(part, model({ image: 70, [kind]: 900 }))).toEqual(media(900))
  })
})

describe('a model may read the following as text:', () => {
  it.each<[what: string, part: ReturnType<typeof file>]>([
    ['a script', file(inline('application/x-python', SCRIPT), 'a.py')],
    ['bytes of no type', file(inline('application/octet-stream', SCRIPT))],
    ['a data: address without a type', file(`data:;base64,${Buffer.from(SCRIPT).toString('base64')}`)],
    ['plain base64', file(Buffer.from(SCRIPT).toString('base64'))],
    [
      'base64 with a false end',
      file(
        `${Buffer.from(SCRIPT).toString('base64').slice(0, 4)}=${Buffer.from(SCRIPT).toString('base64').slice(4)}`,
      ),
    ],
    ['percent-encoded text', file(`data:application/x-python,${encodeURIComponent(SCRIPT)}`)],
    ['a script that is declared as an image', file(inline('image/png', SCRIPT))],
    [
      'UTF-16',
      file(inline('application/octet-stream', Buffer.from(`\ufeff${SCRIPT}`, 'utf16le').toString('latin1'))),
    ],
  ])('%s', (_, part) => {
    const { text, tokens } = mediaBound(part, LISTED)
    expect(text.replace('\ufeff', '')).toBe(SCRIPT)
    expect(tokens).toBe(70)
  })

  it.each<[what: string, type: string, name: string | undefined, start: string, tokens: number]>([
    ['a script after the start of a PDF', 'text/x-python', 'a.py', '%PDF-1.7\n', 900],
    [
      'a script after the start of a PDF, of no type',
      'application/octet-stream',
      undefined,
      '%PDF-1.7\n',
      900,
    ],
    ['a script that is a PDF by its type, and not by its name', 'application/pdf', 'a.py', '%PDF-1.7\n', 900],
    ['a script that is a PDF by its name, and not by its type', 'text/x-python', 'a.pdf', '%PDF-1.7\n', 900],
    ['a script after the start of an image', 'application/x-python', undefined, 'GIF89a=1\n', 70],
    ['a script that is an image by its type, and not by its name', 'image/gif', 'a.py', 'GIF89a=1\n', 70],
    ['a script after the start of a recording', 'text/plain', undefined, 'ID3=1\n', 70],
    ['a script after the start of an archive', 'text/plain', undefined, 'PK\x03\x04\n', 800],
    ['a drawing in XML', 'image/svg+xml', 'a.svg', '<svg>', 70],
  ])('%s', (_, type, name, start, tokens) => {
    const named = model({ image: 70, audio: 70, video: 70, pdf: 900, archive: 800 })
    const found = mediaBound(file(inline(type, start + SCRIPT), name), named)
    expect(found).toEqual(textOrMedia(tokens, start + SCRIPT))
  })
})

describe('the text of a file with escapes', () => {
  it.each([
    ['%41%61', 'Aa'],
    ['%4a%4B', 'JK'],
    ['%C3%A9 %e2%82%ac', 'é €'],
    ['é%41', 'éA'],
    ['100%', '100%'],
    ['%4', '%4'],
    ['%zz%4g%G4', '%zz%4g%G4'],
    ['%%41', '%A'],
    ['%2541', '%41'],
    ['%ff', '\ufffd'],
  ])('%j is %j', (escaped, text) => {
    expect(mediaBound(file(`data:text/plain,${escaped}`), LISTED).text).toBe(text)
  })

  it.each([
    ['percent-escapes', `data:text/plain,${'%41a'.repeat(1_000_000)}`],
    ['settings before the data', `data:text/plain${';'.repeat(4_000_000)},x`],
    ['base64 with padding everywhere', `data:text/plain;base64,${'QQ=='.repeat(1_000_000)}`],
  ])('takes little time for four megabytes of %s', (_what, data) => {
    const enough = 400
    expect(cpuMsOf(() => mediaBound(file(data), LISTED), enough)).toBeLessThan(enough)
  })
})

describe('the token bound of a file', () => {
  it('is that of the most expensive kind that it may be', () => {
    const both = Buffer.concat([PNG, Buffer.from('%PDF-1.7')])
    const part = { type: 'image_url', image_url: { url: inline('image/png', both.toString('latin1')) } }
    expect(mediaBound(part, LISTED)).toEqual(media(CONTEXT))
    expect(mediaBound(part, model({ image: 70, pdf: 900 }))).toEqual(media(900))
    const sound = file(inline('audio/webm', bytes('1a45dfa3').toString('latin1')))
    expect(mediaBound(sound, model({ audio: 70, video: 300 }))).toEqual(media(300))
  })

  it.each(['utf-16le', 'latin1', '"gbk"'])('counts three bytes for each byte of text in %s', (charset) => {
    const { text } = mediaBound(file(`data:text/plain;charset=${charset};base64,QUJD`), LISTED)
    expect(Buffer.byteLength(text)).toBe(9)
  })

  it.each(['utf-8', 'UTF8', '"utf-8"', 'us-ascii'])('counts the bytes of text in %s', (charset) => {
    expect(mediaBound(file(`data:text/plain; charset=${charset};base64,QUJD`), LISTED).text).toBe('ABC')
  })

  it('is the whole context if its address has a head that is too long to read', () => {
    const head = `image/png;${'x'.repeat(600)};charset=utf-16le;base64`
    const part = file(`data:${head},%89PNG%0d%0a%1a%0a${'QUJD'.repeat(100)}`)
    expect(mediaBound(part, model({ image: 70 }))).toEqual(media(CONTEXT))
    const { contextLength: _, ...unbounded } = model({ image: 70 })
    expect(mediaBound(part, unbounded).tokens).toBeUndefined()
  })

  it('is the whole context if the file is remote, whatever its name says', () => {
    const named = model({ image: 70, pdf: 900 })
    for (const given of [{ file_data: 'https://example.com/a.pdf' }, { file_id: 'file-1' }, {}]) {
      const part = { type: 'file', file: { filename: 'a.pdf', ...given } }
      expect(mediaBound(part, named)).toEqual(media(CONTEXT))
      const { contextLength: _, ...unbounded } = named
      expect(mediaBound(part, unbounded).tokens).toBeUndefined()
    }
  })

  it('is that of its type for a remote image, recording or video', () => {
    const named = model({ image: 70, audio: 80, video: 90 })
    const at = (type: string) => ({ type, [type]: { url: 'https://example.com/a' } })
    expect(['image_url', 'audio_url', 'video_url'].map((type) => mediaBound(at(type), named).tokens)).toEqual(
      [70, 80, 90],
    )
  })

  it('is that of its format for recognised audio', () => {
    const audio = (data: Buffer, format: string) => ({
      type: 'input_audio',
      input_audio: { data: data.toString('base64'), format },
    })
    expect(mediaBound(audio(Buffer.from('ID3\x04'), 'mp3'), LISTED)).toEqual(media(70))
    expect(mediaBound(audio(Buffer.from(SCRIPT), 'mp3'), LISTED)).toEqual(textOrMedia(70, SCRIPT))
  })

  it('is the whole context for files of unknown kinds if the catalogue names no kind of media', () => {
    expect(mediaBound(file(inline('text/plain', 'Hi')), model({ pdf: 900 }))).toEqual(
      textOrMedia(CONTEXT, 'Hi'),
    )
    expect(mediaBound(file(inline('text/plain', 'Hi')), model())).toEqual(textOrMedia(CONTEXT, 'Hi'))
  })
})
