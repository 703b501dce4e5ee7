import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { MemoryBudget } from '../../src/base/memory-budget.js'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import { BodyBudget } from '../../src/hosts/body-budget.js'
import { BodyCollector } from '../../src/hosts/collect-body.js'
import { RequestSource } from '../../src/http/call.js'
import { DEFAULTS } from '../../src/options.js'
import { ReplyReader } from '../../src/providers/reply-reader.js'
import { ManualClock } from '../http/fixture.js'

const TEXT = `{"text":"${'Grüße '.repeat(200)}"}`

/** Each byte on its own. Overwriting the first ones simulates that their memory is reused. */
function inBytes(text: string): { pieces: Buffer[]; forgetFirst(): void } {
  const pieces = [...Buffer.from(text)].map((byte) => Buffer.from([byte]))
  return { pieces, forgetFirst: () => pieces.slice(0, 256).forEach((piece) => void piece.fill(0)) }
}

describe('a body that arrives byte by byte keeps none of its first pieces', () => {
  it('from a client', async () => {
    const { pieces, forgetFirst } = inBytes(TEXT)
    const share = new BodyBudget(Infinity, new MemoryBudget(Infinity)).open('alice')
    const request = Readable.from(pieces, { objectMode: false }) as IncomingMessage
    request.on('end', forgetFirst)
    const collector = new BodyCollector(
      new RequestSource(request),
      undefined,
      DEFAULTS.timeouts,
      Infinity,
      new ManualClock(),
      share,
    )
    expect((await collector.done).toString()).toBe(TEXT)
  })

  it('from a provider', () => {
    const { pieces, forgetFirst } = inBytes(TEXT)
    const events: ProviderEvent[] = []
    const read: string[] = []
    const reader = new ReplyReader(1_000, {
      fastPaths: true,
      onEvent: () => false,
      onBody: (json) => void read.push(json.toString()),
    })
    for (const piece of pieces) reader.read(piece, events)
    forgetFirst()
    expect(reader.end(events)).toBe(true)
    expect(read).toEqual([TEXT])
  })
})
