import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ChatRequest } from '../../../src/protocol/chat-request.js'
import { answerEvents, answerJson, finishChunk, textChunk } from '../../helpers/scripted-upstream.js'
import { type CallOptions, createCall, openAdapter, runCall, textOf } from './run-call.js'

type Refusal = readonly [status: number, body: object]

const extra = (...loc: unknown[]) => ({ type: 'extra_forbidden', loc: ['body', ...loc], msg: 'Extra inputs' })
const refusing = (...loc: unknown[]) => ({
  object: 'error',
  message: { detail: [extra(...loc)] },
  param: null,
})
const usageExtra = extra('stream_options', 'include_usage')

/** What Mistral, Azure's models, servers on vLLM and Groq have said. */
const USAGE_REFUSALS: readonly Refusal[] = [
  [422, refusing('stream_options', 'include_usage')],
  [422, { detail: [usageExtra] }],
  [400, { detail: "Extra parameters ['stream_options'] are not allowed." }],
  [422, { error: { code: 'Invalid input', message: JSON.stringify({ detail: [usageExtra] }), status: 422 } }],
  [400, { object: 'error', message: "[{'loc': ('body', 'stream_options')}]", code: 400 }],
  [400, { error: { message: "property 'stream_options' is unsupported, did you mean 'stream'?" } }],
  [400, { error: { message: 'Unknown parameter.', param: 'stream_options' } }],
]
/** And Fireworks and Cerebras. */
const REASONING_REFUSALS: readonly Refusal[] = [
  [422, refusing('messages', 1, 'assistant', 'reasoning')],
  [422, { detail: [extra('messages', 1, 'assistant', 'reasoning_content')] }],
  [400, { error: { message: "Extra inputs are not permitted, field: 'messages[1].reasoning'" } }],
  [400, { error: { message: 'messages.1.reasoning_details: Extra inputs are not permitted' } }],
  [
    400,
    {
      error: { message: "'messages.1' : property 'reasoning_content' is unsupported, did you mean 'role'?" },
    },
  ],
  [
    400,
    { message: "property 'messages.1.assistant.reasoning_content' is unsupported", code: 'wrong_api_format' },
  ],
]
const USAGE = USAGE_REFUSALS[0]!
const REASONING = REASONING_REFUSALS[0]!
const refuse = ([status, body]: Refusal) => answerJson(body, status)

const ASKS = { stream: true, stream_options: { include_usage: true } }
const { request: short } = createCall()
const said = { role: 'assistant', content: 'Hm.', name: 'bot' }
const reasons: ChatRequest = {
  ...short,
  messages: [
    ...short.messages,
    { ...said, reasoning: 'a', reasoning_details: [{ text: 'a' }] },
    ...short.messages,
  ],
}
const withoutReasons: ChatRequest = { ...short, messages: [...short.messages, said, ...short.messages] }
const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

let opened: Awaited<ReturnType<typeof openAdapter>>
beforeEach(async () => {
  opened = await openAdapter()
  opened.upstream.script(answerEvents([textChunk('Hello'), finishChunk('stop', { usage })]))
})
afterEach(() => opened.close())

const asked = () => opened.upstream.requests.map(({ body }) => body)

async function succeed(options: CallOptions = {}): Promise<void> {
  const { error, events, terminated } = await runCall(opened.adapter, options)
  expect([error, textOf(events), terminated]).toEqual([undefined, 'Hello', true])
  expect(events).toContainEqual({ type: 'usage', usage: expect.objectContaining({ completion: 7 }) })
}

describe('a provider that refuses what the router added', () => {
  it.each(USAGE_REFUSALS)('is asked no more for the usage of a stream: %s %j', async (...refusal) => {
    opened.upstream.scriptOnce(refuse(refusal))
    await succeed()
    await succeed()
    expect(asked()).toEqual([
      { ...short, ...ASKS },
      { ...short, stream: true },
      { ...short, stream: true },
    ])
  })

  it.each(REASONING_REFUSALS)('gets no reasoning back: %s %j', async (...refusal) => {
    opened.upstream.scriptOnce(refuse(refusal))
    await succeed({ request: reasons })
    await succeed({ request: reasons })
    const sent = { ...withoutReasons, ...ASKS }
    expect(asked()).toEqual([{ ...reasons, ...ASKS }, sent, sent])
  })

  it('gets no reasoning back where no stream is asked for', async () => {
    opened.upstream.scriptOnce(refuse(REASONING))
    const { error } = await runCall(opened.adapter, { request: reasons, stream: false })
    expect(error).toBeUndefined()
    expect(asked()).toEqual([reasons, withoutReasons])
  })

  it.each([
    ['one after the other', [USAGE, REASONING]],
    ['the other way round', [REASONING, USAGE]],
  ])('may refuse both, %s', async (_order, refusals) => {
    opened.upstream.scriptOnce(...refusals.map(refuse))
    await succeed({ request: reasons })
    await succeed({ request: reasons })
    const sent = { ...withoutReasons, stream: true }
    expect(asked().slice(2)).toEqual([sent, sent])
  })

  it('may refuse both in two calls at the same time', async () => {
    const { upstream } = opened
    upstream.scriptOnce(refuse(USAGE), refuse(REASONING))
    await Promise.all([succeed({ request: reasons }), succeed({ request: reasons })])
    await succeed({ request: reasons })
    expect(asked().at(-1)).toEqual({ ...withoutReasons, stream: true })
  })

  it('is asked as before for another model', async () => {
    opened.upstream.scriptOnce(refuse(USAGE))
    await succeed()
    const another = { ...short, model: 'another' }
    await succeed({ request: another })
    expect(asked().at(-1)).toEqual({ ...another, ...ASKS })
  })

  it('is asked as before where the request is refused without it, too', async () => {
    const refusal = answerJson({ error: { message: 'No tool is called stream_options.' } }, 400)
    opened.upstream.scriptOnce(refusal, refusal)
    const { error } = await runCall(opened.adapter)
    expect(error).toMatchObject({ reason: 'status', status: 400 })
    expect(error?.providerMessage).toBe('No tool is called stream_options.')
    await succeed()
    expect(asked().at(-1)).toEqual({ ...short, ...ASKS })
  })
})

const missing = 'The `reasoning_content` in the thinking mode must be passed back to the API.'

it.each([
  ['another refusal', reasons, answerJson({ error: { message: 'Bad top_k.', param: 'top_k' } }, 400)],
  ['another status', reasons, answerJson(USAGE[1], 500)],
  ['a refusal of reasoning that was not sent', short, refuse(REASONING)],
  ['a refusal for want of reasoning', reasons, answerJson({ error: { message: missing } }, 400)],
  [
    'a reply that failed after it had begun',
    reasons,
    answerEvents([textChunk('Hel'), { error: { code: 400, message: 'stream_options' } }]),
  ],
])('%s stands', async (_what, request, script) => {
  opened.upstream.scriptOnce(script)
  expect((await runCall(opened.adapter, { request })).error).toBeDefined()
  expect(asked()).toHaveLength(1)
})

it('a refusal of a reply in one body for what only a stream asks for stands', async () => {
  opened.upstream.scriptOnce(refuse(USAGE))
  expect((await runCall(opened.adapter, { stream: false })).error).toMatchObject({ status: 422 })
  expect(asked()).toHaveLength(1)
})
