import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TokenCounter } from '../../src/contracts/token-counter.js'
import { byteRatioCounter } from '../../src/engine/charging/byte-counters.js'
import { UsageMeter } from '../../src/engine/charging/usage-meter.js'
import { ChatReply } from '../../src/operations/chat/reply/chat-reply.js'
import { toLatin1 } from '../../src/protocol/latin1.js'
import { NO_USAGE } from '../../src/protocol/usage.js'

const CHARGE = { cost: 12n, base: 10n, markup: 2n, basis: 'reported', byok: false, usage: NO_USAGE } as const

/** A tokenizer of a host's, which must be given text. */
function readingCounter(read: string[]): TokenCounter {
  return {
    tally: () => ({
      add: (text) => void read.push(text),
      atMost: () => read.length,
      atLeast: () => read.length,
    }),
  }
}

/** All that becomes of one completion, given as text or as latin1. */
function play(completion: object, latin1: boolean, { stream = false, counter = byteRatioCounter } = {}) {
  let ids = 0
  const relay = new ChatReply(
    {
      id: 'chatcmpl-1',
      created: 7,
      counter,
      meter: new UsageMeter(
        { n: 1 },
        () => {},
        () => {},
      ),
      newId: () => String(++ids),
      splice: true,
    },
    { stream, model: 'acme/schön', n: 2 },
  )
  const json = JSON.stringify(completion)
  const given = JSON.parse(latin1 ? toLatin1(json) : json)
  const sent = relay.take([{ type: 'completion', completion: given, latin1 }])
  if (relay.failure === undefined) relay.endChoices('stop')
  const { failure, finished, finishReason, nativeFinishReason, tokenEvents, upstreamId } = relay
  const reply = failure !== undefined ? undefined : stream ? sent + relay.closing(CHARGE) : relay.body(CHARGE)
  const tokens = relay.completionAtLeast(Infinity)
  return { reply, failure, finished, finishReason, nativeFinishReason, tokenEvents, upstreamId, tokens }
}

/** Any text that JSON does not escape by number. */
const text = fc
  .string({ unit: fc.constantFrom(...'aB "\\\n/{}é漢😀\u0085\u2028\u00ad\ufffd\u200e') })
  .map((made) => made.replaceAll('\u0000', ''))
const label = fc.oneof(fc.constantFrom('stop', 'length', 'STOP', 'schluß', null, undefined, 7), text)
const message = fc.record(
  {
    role: text,
    content: fc.oneof(text, fc.constant(null), fc.array(fc.record({ type: text, text }), { maxLength: 2 })),
    reasoning: text,
    refusal: fc.oneof(text, fc.constant(null)),
    annotations: fc.array(fc.dictionary(text, text), { maxLength: 2 }),
    tool_calls: fc.array(
      fc.record({
        id: text,
        type: fc.constant('function'),
        function: fc.record({ name: text, arguments: fc.oneof(text, fc.dictionary(text, text)) }),
      }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: ['content'] },
)
const completion = fc.record(
  {
    id: label,
    system_fingerprint: label,
    service_tier: label,
    choices: fc.array(fc.record({ message, finish_reason: label, own: text }), { maxLength: 2 }),
  },
  { requiredKeys: ['choices'] },
)

describe('a completion whose strings are latin1', () => {
  it.each([false, true])('becomes the same as its text (streamed: %s)', (stream) => {
    fc.assert(
      fc.property(completion, (given) => {
        expect(play(given, true, { stream })).toEqual(play(given, false, { stream }))
      }),
      { numRuns: 400, seed: 7 },
    )
  })

  it('is text for a tokenizer', () => {
    const given = { choices: [{ message: { content: 'Grüße, 漢字' }, finish_reason: 'stop' }] }
    const read: string[] = []
    play(given, true, { counter: readingCounter(read) })
    expect(read).toEqual(['Grüße, 漢字'])
  })
})
