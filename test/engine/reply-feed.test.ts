import { describe, expect, it } from 'vitest'
import { ProviderError } from '../../src/base/errors.js'
import type { ReplyEvent } from '../../src/contracts/operation.js'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import { ReplyFeed } from '../../src/engine/call/reply-feed.js'
import { UsageMeter } from '../../src/engine/charging/usage-meter.js'
import { asWire, joined, type WireBytes } from '../../src/protocol/wire-bytes.js'

type Script = Readonly<Record<string, (reply: ScriptedReply) => void>>

/** A reply that does what a script says for the bytes of each event, and sends these bytes. */
class ScriptedReply {
  failure: ProviderError | undefined
  finished = false
  tokenEvents = 0
  /** The bytes of each list that it took. */
  readonly taken: string[][] = []

  constructor(private readonly script: Script) {}

  take(events: readonly ReplyEvent[]): WireBytes {
    const read: WireBytes[] = []
    for (const event of events) {
      if (event.type !== 'data') throw new Error(`an event of type ${event.type} was passed`)
      if (this.failure !== undefined) break
      read.push(event.bytes)
      this.script[event.bytes]?.(this)
    }
    this.taken.push(read)
    return joined(read)
  }
}

const SCRIPT: Script = {
  token: (reply) => reply.tokenEvents++,
  end: (reply) => {
    reply.finished = true
  },
  failure: (reply) => {
    reply.failure = new ProviderError('error-frame', 'An error came.')
  },
}

const data = (bytes: string): ProviderEvent => ({ type: 'data', bytes: asWire(bytes) })
const usage = (completion: unknown, final?: boolean): ProviderEvent => ({
  type: 'usage',
  usage: { prompt: 10, completion },
  ...(final !== undefined && { final }),
})

function feeding() {
  const meter = new UsageMeter({ n: 1 }, expect.fail, expect.fail)
  const reply = new ScriptedReply(SCRIPT)
  return { meter, reply, feed: new ReplyFeed(reply, meter, {}) }
}

describe('the feed of a reply', () => {
  it('passes a read without usage as one list', () => {
    const { feed, reply } = feeding()
    const events = [data('token'), data('end')]
    expect(feed.take(events)).toBe('tokenend')
    expect(reply.taken).toEqual([['token', 'end']])
  })

  it('counts a usage before the end of the same read as one that came before the end', () => {
    const { feed, meter } = feeding()
    expect(feed.take([data('token'), usage(1), data('token'), data('end')])).toBe('tokentokenend')
    expect(meter.reported(false)).toBe(false)
  })

  it('counts a usage after the end of the same read as final', () => {
    const { feed, meter } = feeding()
    expect(feed.take([data('token'), data('end'), usage(2)])).toBe('tokenend')
    expect(meter.reported(false)).toBe(true)
    expect(meter.complete).toBe(true)
  })

  it('takes a token after a usage as a sign that the usage was not the last', () => {
    const { feed, meter } = feeding()
    feed.take([data('token'), usage(1)])
    expect(meter.reported(true)).toBe(true)
    feed.take([data('token')])
    expect(meter.reported(true)).toBe(false)
  })

  it('counts the usage of a failure, and nothing that comes after the failure', () => {
    const { feed, meter, reply } = feeding()
    expect(feed.take([data('token'), usage(3, true), data('failure'), usage(9), data('token')])).toBe(
      'tokenfailure',
    )
    expect(reply.taken).toEqual([['token'], ['failure']])
    expect(meter.reported(false)).toBe(true)
    expect(meter.asReported({ prompt: 0, completion: 0 }).usage.completion).toBe(3)
  })

  it('passes nothing on if a read has only usage', () => {
    const { feed, reply } = feeding()
    expect(feed.take([usage(1), usage(2)])).toBe('')
    expect(reply.taken).toEqual([])
  })

  it.each([
    [0, false],
    [2, true],
    [undefined, false],
  ])('says of a completion of %s whether output was counted: %s', (completion, expected) => {
    const { feed } = feeding()
    feed.take([usage(completion)])
    expect(feed.hasCountedOutput).toBe(expected)
  })

  it('leaves it to the reply to refuse a usage without counts', () => {
    const { feed } = feeding()
    const event = { type: 'usage', usage: null } as unknown as ProviderEvent
    expect(() => feed.take([event])).toThrow('an event of type usage was passed')
  })

  it('charges what the plan makes of a usage', () => {
    const { meter, reply } = feeding()
    const feed = new ReplyFeed(reply, meter, { usageToCharge: (report) => ({ ...report, completion: 0 }) })
    feed.take([data('end'), usage(7)])
    expect(meter.asReported({ prompt: 0, completion: 5 })).toMatchObject({
      usage: { prompt: 10, completion: 0 },
      basis: 'reported',
    })
  })
})
