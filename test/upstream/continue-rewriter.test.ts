import { expect, it } from 'vitest'
import { ContinueRewriter } from '../../src/upstream/undici/continue-rewriter.js'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n'
const REPLIES: readonly [string, string][] = [
  [`HTTP/1.1 100 Continue\r\n\r\n${OK}`, `HTTP/1.1 102 Continue\r\n\r\n${OK}`],
  [`HTTP/1.0 100\r\n\r\n${OK}`, `HTTP/1.0 102\r\n\r\n${OK}`],
  [`HTTP/1.1 100 Continue\n\n${OK}`, `HTTP/1.1 102 Continue\n\n${OK}`],
  [`\r\nHTTP/1.1 100 Continue\r\n\r\n${OK}`, `\r\nHTTP/1.1 102 Continue\r\n\r\n${OK}`],
  [
    `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\nx: y\r\n\r\n${OK}`,
    `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Continue\r\nx: y\r\n\r\n${OK}`,
  ],
  [
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${OK}`,
    `HTTP/1.1 102 Continue\r\n\r\nHTTP/1.1 102 Continue\r\n\r\n${OK}`,
  ],
]
const KEPT = [
  OK,
  'HTTP/1.1 200 OK\r\ncontent-length: 25\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  'HTTP/1.1 110 Odd\r\n\r\n',
  'HTTP/1.1 500 100 Continue\r\n\r\n',
  'SSH-2.0-OpenSSH_9.6\r\n',
]

/** Rewrites a text in pieces of a length. */
function rewritten(text: string, length: number): string {
  const rewriter = new ContinueRewriter()
  rewriter.begin()
  const bytes = Buffer.from(text)
  for (let start = 0; start < bytes.length; start += length) {
    rewriter.rewrite(bytes.subarray(start, start + length))
  }
  return bytes.toString()
}

it.each([1, 2, 3, 7, 11, 12, 1_000])(
  'the 100-continue rewriter rewrites each 100 before a reply, in pieces of %i bytes',
  (length) => {
    for (const [text, expected] of REPLIES) expect(rewritten(text, length)).toBe(expected)
    for (const text of KEPT) expect(rewritten(text, length)).toBe(text)
  },
)

it('the 100-continue rewriter rewrites nothing between the head of a reply and the next request', () => {
  const rewriter = new ContinueRewriter()
  const body = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n')
  rewriter.rewrite(body)
  expect(body.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  rewriter.begin()
  rewriter.rewrite(Buffer.from(OK))
  rewriter.rewrite(body)
  expect(body.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  rewriter.begin()
  rewriter.rewrite(body)
  expect(body.toString()).toBe('HTTP/1.1 102 Continue\r\n\r\n')
})
