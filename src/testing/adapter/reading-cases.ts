import { strict as assert } from 'node:assert'
import { setTimeout as wait } from 'node:timers/promises'
import { type AdapterCase, adapterCase, promptly } from './bench.js'
import type { ScriptedAnswer } from './scenario.js'

const PIECE_CHARACTERS = 32_768
const PIECES = 1_024
const STILL_MS = 250
const LONG_CHARACTERS = 262_144
const WIDE = { eventBytes: 1_048_576, replyBytes: 1_048_576 }

const long: ScriptedAnswer = {
  text: [],
  toolCalls: [],
  finish: 'stop',
  usage: { prompt: 1, cached: 0, cacheWrite: 0, completion: 1, reasoning: 0 },
}

export const readingCases: readonly AdapterCase[] = [
  adapterCase(
    'abort-before',
    'a call whose signal is already aborted rejects and sends nothing',
    { kind: 'cut-short', text: [], how: 'ended' },
    async ({ call, run, requests }) => {
      const { error } = await run(call({ signal: AbortSignal.abort() }))
      assert.notEqual(error, undefined)
      // If the first call had sent a request, the server would have seen it before the second call ends.
      await run(call())
      assert.equal(requests.length, 1)
    },
  ),
  ...[true, false].map((stream) =>
    adapterCase(
      stream ? 'abort-waiting-stream' : 'abort-waiting-json',
      `an abort while the provider is silent ends the connection (${stream ? 'stream' : 'JSON'})`,
      { kind: 'silence', text: [] },
      async ({ call, run, firstRequest }) => {
        const controller = new AbortController()
        const running = run(call({ stream, signal: controller.signal }))
        const request = await promptly('the request', firstRequest)
        controller.abort()
        const { error } = await promptly('the rejection', running)
        assert.notEqual(error, undefined)
        await promptly('the end of the connection', request.closed)
      },
    ),
  ),
  adapterCase(
    'abort-reading',
    'an abort in the middle of a stream ends the connection',
    { kind: 'silence', text: ['Some text'] },
    async ({ call, run, firstRequest }) => {
      const controller = new AbortController()
      let reply = ''
      const running = run(call({ signal: controller.signal }), (events) => {
        reply += JSON.stringify(events)
        if (reply.includes('Some text')) controller.abort()
      })
      const { error } = await promptly('the rejection', running)
      assert.notEqual(error, undefined)
      await promptly('the end of the connection', (await firstRequest).closed)
    },
  ),
  adapterCase(
    'abort-held',
    'an abort while take is waiting rejects at once and ends the connection',
    { kind: 'silence', text: ['Some text'] },
    async ({ call, run, firstRequest }) => {
      const controller = new AbortController()
      let release = () => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const running = run(call({ signal: controller.signal }), () => {
        queueMicrotask(() => controller.abort())
        return held
      })
      const { error } = await promptly('the rejection', running)
      assert.notEqual(error, undefined)
      await promptly('the end of the connection', (await firstRequest).closed)
      release()
    },
  ),
  adapterCase(
    'backpressure',
    'a promise from take stops the provider from sending more, and nothing is lost',
    { kind: 'flood', piece: 'x'.repeat(PIECE_CHARACTERS), times: PIECES },
    async ({ call, run, sentBytes }) => {
      const total = PIECE_CHARACTERS * PIECES
      let sentWhileHeld: number | undefined
      const { reply, terminated, error } = await run(call(), (events) => {
        if (sentWhileHeld !== undefined || events.length === 0) return undefined
        sentWhileHeld = 0
        return standStill(sentBytes, total).then((sent) => {
          sentWhileHeld = sent
        })
      })
      assert.equal(error, undefined)
      assert.ok(
        sentWhileHeld !== undefined && sentWhileHeld < total,
        'the adapter read the whole reply while take was waiting',
      )
      assert.equal(reply.text.length, total)
      assert.equal(terminated, true)
    },
  ),
  ...(
    [
      ['reply-bytes-stream', 'a stream of more than replyBytes', true, 'replyBytes', 64],
      ['reply-bytes-json', 'a JSON reply of more than replyBytes', false, 'replyBytes', 64],
      ['event-bytes', 'an event of more than eventBytes', true, 'eventBytes', 1],
    ] as const
  ).map(([id, words, stream, limit, pieces]) =>
    adapterCase(
      id,
      `${words} rejects as invalid`,
      {
        kind: 'answer',
        answer: { ...long, text: Array.from({ length: pieces }, () => 'x'.repeat(LONG_CHARACTERS / pieces)) },
      },
      async ({ call, run }) => {
        const { error } = await run(call({ stream, sizes: { ...WIDE, [limit]: LONG_CHARACTERS / 2 } }))
        assert.equal(error?.reason, 'invalid-response')
      },
    ),
  ),
]

/** Waits until the sender has sent nothing for a while, or everything. */
async function standStill(sentBytes: () => number, total: number): Promise<number> {
  for (let sent = sentBytes(); ; ) {
    await wait(STILL_MS)
    const now = sentBytes()
    if ((now === sent && now > 0) || now >= total) return now
    sent = now
  }
}
