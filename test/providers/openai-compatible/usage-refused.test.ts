import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type ScriptedRequest,
  textChunk,
} from '../../helpers/scripted-upstream.js'
import { createCall, openAdapter, runCall, textOf } from './run-call.js'

const extra = {
  type: 'extra_forbidden',
  loc: ['body', 'stream_options', 'include_usage'],
  msg: 'Extra inputs',
}
/** What Mistral, Azure's models, servers on vLLM and Groq have said. */
const REFUSALS: readonly (readonly [status: number, body: object])[] = [
  [422, { object: 'error', message: { detail: [extra] }, type: 'invalid_request_error', param: null }],
  [422, { detail: [extra] }],
  [400, { detail: "Extra parameters ['stream_options'] are not allowed." }],
  [422, { error: { code: 'Invalid input', message: JSON.stringify({ detail: [extra] }), status: 422 } }],
  [400, { object: 'error', message: "[{'loc': ('body', 'stream_options')}]", code: 400 }],
  [400, { error: { message: "property 'stream_options' is unsupported, did you mean 'stream'?" } }],
  [400, { error: { message: 'Unknown parameter.', param: 'stream_options' } }],
]
const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const reply = answerEvents([textChunk('Hello'), finishChunk('stop', { usage })])

let opened: Awaited<ReturnType<typeof openAdapter>>
beforeEach(async () => {
  opened = await openAdapter()
})
afterEach(() => opened.close())

const optionsOf = ({ body }: ScriptedRequest) => (body as { stream_options?: object }).stream_options
const asked = () => opened.upstream.requests.map(optionsOf)
const ASKS = { include_usage: true }

describe('a provider that refuses to be asked for the usage of a stream', () => {
  it.each(REFUSALS)('is asked again without, and never so again: %s %j', async (status, body) => {
    const { adapter, upstream } = opened
    upstream.script(reply)
    upstream.scriptOnce(answerJson(body, status))
    for (let call = 0; call < 2; call++) {
      const { error, events, terminated } = await runCall(adapter)
      expect([error, textOf(events), terminated]).toEqual([undefined, 'Hello', true])
      expect(events).toContainEqual({ type: 'usage', usage: expect.objectContaining({ completion: 7 }) })
    }
    expect(asked()).toEqual([ASKS, undefined, undefined])
    const [first, second] = upstream.requests.map(({ body }) => body as object)
    expect({ ...second, stream_options: ASKS }).toEqual(first)
  })

  it('still is where another model is called', async () => {
    const { adapter, upstream } = opened
    upstream.script(reply)
    upstream.scriptOnce(answerJson(REFUSALS[0]![1], 422))
    await runCall(adapter)
    const request = { ...createCall().request, model: 'another' }
    await runCall(adapter, { request })
    expect(asked()).toEqual([ASKS, undefined, ASKS])
  })

  it('is asked with it next time where the request is refused without it, too', async () => {
    const { adapter, upstream } = opened
    const said = { error: { message: 'No tool is called stream_options.' } }
    upstream.script(reply)
    upstream.scriptOnce(answerJson(said, 400), answerJson(said, 400))
    const { error } = await runCall(adapter)
    expect(error).toMatchObject({ reason: 'status', status: 400, providerMessage: said.error.message })
    expect((await runCall(adapter)).error).toBeUndefined()
    expect(asked()).toEqual([ASKS, undefined, ASKS])
  })
})

it.each([
  ['another refusal', answerJson({ error: { message: 'Bad top_k.', param: 'top_k' } }, 400)],
  ['another status', answerJson({ error: { message: 'stream_options' } }, 500)],
  [
    'a reply that failed after it had begun',
    answerEvents([textChunk('Hel'), { error: { code: 400, message: 'stream_options' } }]),
  ],
])('%s is asked for once', async (_what, script) => {
  opened.upstream.scriptOnce(script)
  expect((await runCall(opened.adapter)).error).toBeDefined()
  expect(opened.upstream.requests).toHaveLength(1)
})

it('a refusal of a reply in one body stands', async () => {
  opened.upstream.scriptOnce(answerJson(REFUSALS[0]![1], 422))
  expect((await runCall(opened.adapter, { stream: false })).error).toMatchObject({ status: 422 })
  expect(opened.upstream.requests).toHaveLength(1)
})
