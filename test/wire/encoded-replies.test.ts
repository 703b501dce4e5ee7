import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { COST, END, type OddReply, startService, testOddReplies, text, whole } from './mends.js'
import { ask, framesOf } from './service.js'

const STREAM = `${text('Hel')}${text('lo')}${END}`
const BODY = JSON.stringify(whole({ content: 'Hello' }))
const HELLO = { text: 'Hello', finishReason: 'stop' }
const encoded = (
  encoding: string,
  encode: (bytes: Buffer) => Buffer,
  ...kinds: readonly string[]
): OddReply => ({
  stream: encode(Buffer.from(STREAM)),
  body: encode(Buffer.from(BODY)),
  headers: { 'content-encoding': encoding },
  read: HELLO,
  kinds,
})
const plain = (encoding: string, ...kinds: readonly string[]): OddReply => ({
  ...encoded(encoding, (bytes) => bytes, ...kinds),
  dropped: kinds.length > 0 ? [encoding] : [],
})

testOddReplies('a reply encoded unasked', {
  'with gzip': encoded('gzip', gzipSync, 'encoding-decoded'),
  'with x-gzip': encoded('x-gzip', gzipSync, 'encoding-decoded'),
  'with Brotli': encoded('br', brotliCompressSync, 'encoding-decoded'),
  'with deflate': encoded('deflate', deflateSync, 'encoding-decoded'),
  'with gzip and identity': encoded('identity, gzip', gzipSync, 'encoding-decoded'),
  'with gzip only by its header': { ...encoded('gzip', (bytes) => bytes) },
  'with identity': plain('identity'),
  'with the name of a character set': plain('utf-8', 'encoding-ignored'),
  'with none': plain('none', 'encoding-ignored'),
  'with binary': plain('binary', 'encoding-ignored'),
})

const GZIP = { 'content-encoding': 'gzip' }

describe('a compressed reply from a provider', () => {
  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('is not a success if it is cut off (%s)', async (encoding, encode) => {
    const service = await startService()
    const bytes = encode(Buffer.from(STREAM))
    try {
      service.upstream.script([
        { head: 200, headers: { 'content-encoding': encoding } },
        { write: bytes.subarray(0, bytes.length / 2) },
        'end',
      ])
      const sent = await (await service.post(ask({ stream: true }))).text()
      expect(sent).not.toContain('[DONE]')
      expect(sent).toContain('"error"')
    } finally {
      await service.close()
    }
  })

  test('is forwarded piece by piece', async () => {
    const service = await startService()
    const zlib = await import('node:zlib')
    const gzip = zlib.createGzip()
    const flushed = (piece: string) =>
      new Promise<Buffer>((resolve) => {
        const chunks: Buffer[] = []
        const listen = (chunk: Buffer) => chunks.push(chunk)
        gzip.on('data', listen)
        gzip.write(piece)
        gzip.flush(zlib.constants.Z_SYNC_FLUSH, () => {
          gzip.off('data', listen)
          resolve(Buffer.concat(chunks))
        })
      })
    try {
      const first = await flushed(text('Hel'))
      let goOn!: () => void
      const seen = new Promise<void>((resolve) => {
        goOn = resolve
      })
      service.upstream.script([
        { head: 200, headers: GZIP },
        { write: first },
        { wait: seen },
        { write: gzipSync('') },
        'reset',
      ])
      const response = await service.post(ask({ stream: true }))
      let sent = ''
      for await (const piece of response.body) {
        sent += piece
        if (sent.includes('"Hel"')) goOn()
      }
      expect(sent).toContain('"Hel"')
    } finally {
      gzip.destroy()
      await service.close()
    }
  })

  test('is broken off at the limit of its decoded size', async () => {
    const service = await startService()
    try {
      const bomb = gzipSync(
        Buffer.concat([Buffer.from('{"choices":['), Buffer.alloc(200 * 1024 * 1024, 0x20)]),
      )
      service.upstream.script([{ head: 200, headers: GZIP }, { write: bomb }, 'end'])
      const response = await service.post(ask())
      expect([response.status, (await response.json()) as object]).toMatchObject([502, { error: {} }])
    } finally {
      await service.close()
    }
  })

  test('is decoded for its message if it is an error', async () => {
    const service = await startService()
    try {
      service.upstream.script([
        { head: 400, headers: GZIP },
        { write: gzipSync(JSON.stringify({ error: { message: 'The temperature is too high.' } })) },
        'end',
      ])
      const response = await service.post(ask())
      expect(response.status).toBe(400)
      expect(JSON.stringify(await response.json())).toContain('The temperature is too high.')
    } finally {
      await service.close()
    }
  })

  test('goes to a slow client in full, however much one read decodes to', async () => {
    const service = await startService()
    const pieces = Array.from({ length: 3_000 }, (_, index) => `${index} ${'x'.repeat(1_000)} `)
    try {
      service.upstream.script([
        { head: 200, headers: GZIP },
        { write: gzipSync(`${pieces.map((piece) => text(piece)).join('')}${END}`) },
        'end',
      ])
      const response = await service.post(ask({ stream: true }))
      await new Promise((resolve) => setImmediate(resolve))
      const frames = framesOf(await response.text())
      const read = frames.flatMap(({ choices }) =>
        (choices as { delta: { content?: string } }[]).map(({ delta }) => delta.content ?? ''),
      )
      expect(read.join('')).toBe(pieces.join(''))
      expect(frames.at(-1)).toMatchObject({ usage: { cost: COST } })
    } finally {
      await service.close()
    }
  })
})
