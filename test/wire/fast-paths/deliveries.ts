import type { Random } from '../../simulation/random.js'
import { someAnthropicBody, someBody, someNonsense } from './bodies.js'
import { cut, pieces } from './segments.js'
import type { Delivery } from './upstream.js'

const STATUSES = [302, 400, 401, 403, 404, 413, 422, 429, 500, 502, 503, 529]

export function someReply(random: Random, choices: number, stream: boolean): Delivery {
  if (random.chance(0.1)) return someFailure(random)
  return deliver(random, 200, someBody(random, choices, stream), 0.15)
}

export function someAnthropicReply(random: Random): Delivery {
  return deliver(random, 200, someAnthropicBody(random), 0.15)
}

/** A reply that can reach a client only as an error. */
export function someFailure(random: Random): Delivery {
  const status = random.chance(0.8) ? random.pick(STATUSES) : 200
  return deliver(random, status, someNonsense(random), 0.1)
}

/** Cuts a reply into segments. Sometimes everything after some byte is never sent. */
function deliver(random: Random, status: number, text: string, breaks: number): Delivery {
  const { wire, closes } = frame(random, status, Buffer.from(text))
  if (!random.chance(breaks)) return { segments: cut(random, wire), closes }
  return { segments: cut(random, wire.subarray(0, random.int(0, wire.length - 1))), closes: true }
}

function frame(random: Random, status: number, body: Buffer): { wire: Buffer; closes: boolean } {
  const framing = random.weighted([
    [6, 'chunked'],
    [2, 'length'],
    [1, 'close'],
  ] as const)
  const fields = {
    chunked: 'transfer-encoding: chunked',
    length: `Content-Length: ${body.length}`,
    close: 'connection: close',
  }
  const hints = random.chance(0.05) ? 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n' : ''
  const retry = random.chance(0.2) ? 'retry-after: 3\r\n' : ''
  const type = random.pick(['text/event-stream', 'application/json', 'text/plain; charset=utf-8'])
  const head = `${hints}HTTP/1.1 ${status} Planned\r\ncontent-type: ${type}\r\n${retry}${fields[framing]}\r\n\r\n`
  const sent = framing === 'chunked' ? chunked(random, body) : body
  return { wire: Buffer.concat([Buffer.from(head), sent]), closes: framing === 'close' }
}

function chunked(random: Random, body: Buffer): Buffer {
  const extension = random.chance(0.1) ? ';part=1' : ''
  const chunks = pieces(random, body).map((piece) => {
    const length = piece.length.toString(16)
    const line = `${random.chance(0.1) ? length.toUpperCase() : length}${extension}\r\n`
    return Buffer.concat([Buffer.from(line), piece, Buffer.from('\r\n')])
  })
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')])
}
