import { beforeEach, expect, it, onTestFinished } from 'vitest'
import type { ProviderAdapter } from '../../../src/contracts/providers.js'
import { openaiCompatible } from '../../../src/providers/openai-compatible/index.js'
import { finishChunk, type ScriptedUpstream, sse, textChunk } from '../../helpers/scripted-upstream.js'
import { openAdapter, runCall, textOf } from './run-call.js'

// So many that events wait for the end of a turn.
const CALLS = 20

let upstream: ScriptedUpstream
let adapter: ProviderAdapter

beforeEach(async () => {
  const opened = await openAdapter()
  ;({ upstream, adapter } = opened)
  return opened.close
})

const names = Array.from({ length: CALLS }, (_, number) => `call-${number}`)

/** Answers each call with its own prompt, letter by letter, all at the same time, once all have arrived. */
function answerTogether(ending: 'end' | 'hang-up'): void {
  let come = 0
  let open = (): void => {}
  const all = new Promise<void>((resolve) => {
    open = resolve
  })
  upstream.script(async (reply, request) => {
    const { content } = (request.body as { messages: { content: string }[] }).messages[0]!
    if (++come === CALLS) open()
    await all
    reply.head(200)
    for (const letter of content) await reply.write(sse([textChunk(letter)]))
    if (ending === 'hang-up') reply.hangUp()
    else {
      await reply.write(`${sse([finishChunk()])}data: [DONE]\n\n`)
      reply.end()
    }
  })
}

const ask = (name: string, onTake?: Parameters<typeof runCall>[2], signal?: AbortSignal) =>
  runCall(
    adapter,
    {
      request: { model: 'm', messages: [{ role: 'user', content: name }] },
      ...(signal !== undefined && { signal }),
    },
    onTake,
  )

it('the adapter hands each of many calls its own reply, complete and in order', async () => {
  answerTogether('end')
  const outcomes = await Promise.all(names.map((name) => ask(name)))
  for (const [number, { events, terminated, error }] of outcomes.entries()) {
    expect(error).toBeUndefined()
    expect(terminated).toBe(true)
    expect(textOf(events)).toBe(names[number])
  }
})

it('the adapter hands over nothing while a take of the same call is pending, and everything afterwards', async () => {
  answerTogether('end')
  const outcomes = await Promise.all(
    names.map(async (name) => {
      let taking = 0
      return ask(name, async () => {
        expect(taking++).toBe(0)
        await new Promise((resolve) => setImmediate(resolve))
        taking--
      })
    }),
  )
  for (const [number, { events }] of outcomes.entries()) expect(textOf(events)).toBe(names[number])
})

it('the adapter parses bodies that end together one by one, each as it is handed over', async () => {
  const body = JSON.stringify({
    choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop' }],
  })
  let come = 0
  let open = (): void => {}
  const all = new Promise<void>((resolve) => {
    open = resolve
  })
  upstream.script(async (reply) => {
    reply.head(200, { 'content-type': 'application/json' })
    await reply.write(body.slice(0, 20))
    if (++come === CALLS) open()
    await all
    await reply.write(body.slice(20))
    reply.end()
  })
  const steps: string[] = []
  const { parse } = JSON
  JSON.parse = (text: string, ...more: []) => {
    if (text === body) steps.push('parsed')
    return parse(text, ...more)
  }
  try {
    await Promise.all(
      names.map((name) =>
        ask(name, (events) => {
          if (events.some(({ type }) => type === 'completion')) steps.push('handed over')
        }),
      ),
    )
  } finally {
    JSON.parse = parse
  }
  expect(steps).toEqual(names.flatMap(() => ['parsed', 'handed over']))
})

it('the adapter keeps little of a reply whose take is pending, however fast the reply arrives', async () => {
  const piece = sse([textChunk('x'.repeat(1_000))]).repeat(50)
  const pieces = 100
  upstream.script(async (reply) => {
    reply.head(200)
    for (let sent = 0; sent < pieces; sent++) await reply.write(piece)
    await reply.write(`${sse([finishChunk()])}data: [DONE]\n\n`)
    reply.end()
  })
  let largest = 0
  const outcomes = await Promise.all(
    names.map((name) =>
      ask(name, async (events) => {
        let bytes = 0
        for (const event of events) bytes += event.type === 'data' ? event.bytes.length : 0
        largest = Math.max(largest, bytes)
        await new Promise((resolve) => setImmediate(resolve))
      }),
    ),
  )
  expect(largest).toBeLessThan(256 * 1024)
  for (const { events } of outcomes) expect(textOf(events)).toHaveLength(pieces * 50 * 1_000)
})

it('the adapter hands over everything that came before a lost connection, and then its failure', async () => {
  answerTogether('hang-up')
  const outcomes = await Promise.all(names.map((name) => ask(name)))
  for (const [number, { events, error }] of outcomes.entries()) {
    expect(error?.reason).toBe('cut-short')
    expect(textOf(events)).toBe(names[number])
  }
})

it('the adapter hands over nothing more of an aborted call, and everything of the others', async () => {
  answerTogether('end')
  const controller = new AbortController()
  let takenAfter = 0
  const aborted = ask(
    names[0]!,
    () => {
      if (controller.signal.aborted) takenAfter++
      controller.abort()
    },
    controller.signal,
  )
  const others = await Promise.all(names.slice(1).map((name) => ask(name)))
  expect((await aborted).error?.reason).toBe('cut-short')
  expect(takenAfter).toBe(0)
  for (const [number, { events }] of others.entries()) expect(textOf(events)).toBe(names[number + 1])
})

it('the adapter reads a response with more parts than one call has room for arguments', async () => {
  const parts = 150_000
  const content = Array.from({ length: parts }, () => ({ type: 'output_text', text: 'x' }))
  const usage = { input_tokens: 1, output_tokens: parts, total_tokens: parts + 1 }
  const output = [{ type: 'message', role: 'assistant', content }]
  const response = JSON.stringify({ object: 'response', status: 'completed', output, usage })
  upstream.scriptOnce(async (reply) => {
    reply.head(200, { 'content-type': 'application/json' })
    await reply.write(response)
    reply.end()
  })
  const responses = openaiCompatible({ baseUrl: upstream.baseUrl, api: 'responses' })
  onTestFinished(async () => responses.close?.())
  const { error, events } = await runCall(responses, { stream: false })
  expect(error).toBeUndefined()
  const texts = events.flatMap((event) => (event.type === 'deltas' ? event.deltas : []))
  expect(texts.filter(({ type }) => type === 'text')).toHaveLength(parts)
})
