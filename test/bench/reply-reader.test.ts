import { describe, expect, it } from 'vitest'
import { ReplyReader } from './lib/reply-reader.js'

const EVENTS = ['data: {"content":" naïve"}\n\n', 'data: {"content":"漢字"}\n\n', 'data: [DONE]\n\n']

function chunked(pieces: readonly string[]): Buffer {
  const frames = pieces.map((piece) => {
    const bytes = Buffer.from(piece)
    return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
  })
  const head = Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
  return Buffer.concat([head, ...frames, Buffer.from('0\r\n\r\n')])
}

/** Reads a reply in two pieces and returns, for each, whether it completed the reply. */
function readCut(reader: ReplyReader, reply: Buffer, at: number): boolean[] {
  return [reply.subarray(0, at), reply.subarray(at)].map((piece) => reader.read(piece))
}

describe("the load generator's reply reader", () => {
  it('counts the events of a stream cut at any byte', () => {
    const reply = chunked(EVENTS)
    for (let at = 1; at < reply.length; at++) {
      const reader = new ReplyReader()
      expect(readCut(reader, reply, at), `cut at ${at}`).toEqual([false, true])
      expect([reader.status, reader.events, reader.isDone], `cut at ${at}`).toEqual([200, 3, true])
    }
  })

  it('counts an event whose marker is split between two chunks', () => {
    const text = EVENTS.join('')
    for (let at = 1; at < text.length; at++) {
      const reader = new ReplyReader()
      expect(reader.read(chunked([text.slice(0, at), text.slice(at)]))).toBe(true)
      expect(reader.events, `chunks parted at ${at}`).toBe(3)
    }
  })

  it('notices that a stream ended without its final marker', () => {
    const reader = new ReplyReader()
    expect(reader.read(chunked(EVENTS.slice(0, 2)))).toBe(true)
    expect([reader.events, reader.isDone]).toEqual([2, false])
  })

  it('reads a counted reply cut at any byte, and the reply after it', () => {
    const reply = Buffer.from('HTTP/1.1 429 Slow down\r\ncontent-length: 12\r\n\r\n{"error":{}}')
    for (let at = 1; at < reply.length; at++) {
      const reader = new ReplyReader()
      for (let time = 0; time < 2; time++) {
        expect(readCut(reader, reply, at), `cut at ${at}`).toEqual([false, true])
        expect(reader.status).toBe(429)
        reader.reset()
      }
    }
  })

  it('treats a reply without a body as complete at the end of its head', () => {
    const reader = new ReplyReader()
    expect(reader.read(Buffer.from('HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n'))).toBe(true)
  })
})
