import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  answerEvents,
  answerJson,
  finishChunk,
  type Script,
  textChunk,
} from '../helpers/scripted-upstream.js'
import { API_KEY, COUNTS, MODEL, providerReply, usageChunk, WireService } from './service.js'

const LONG = 'The quick "brown" fox.\n'.repeat(2_000)
const CALL = {
  id: 'call_1',
  type: 'function',
  function: { name: 'look', arguments: '{"at":"fox"}' },
} as const
const TOOL = {
  type: 'function',
  function: {
    name: 'look',
    strict: true,
    parameters: { type: 'object', properties: { at: { type: 'string' } } },
  },
} as const

let service: WireService
let client: OpenAI
beforeEach(async () => {
  service = await WireService.start()
  client = new OpenAI({ baseURL: service.host.baseUrl, apiKey: API_KEY, maxRetries: 0 })
})
afterEach(() => service.close())

/**
 * The provider's message, and the part of it that the provider gets back when the client continues as
 * OpenAI's documentation shows.
 */
async function goOn(
  question: string,
  said: object,
  stream: boolean,
  ...refusals: readonly Script[]
): Promise<unknown> {
  service.upstream.scriptOnce(stream ? streamed(said) : whole(said), ...refusals)
  service.upstream.script(whole({ content: 'Fine.' }))
  const asked: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }]
  const { completions } = client.chat
  const reply = stream
    ? await completions.stream({ model: MODEL, messages: asked, tools: [TOOL] }).finalChatCompletion()
    : await completions.parse({ model: MODEL, messages: asked, tools: [TOOL] })
  const messages = [
    ...asked,
    reply.choices[0]!.message,
    { role: 'tool' as const, tool_call_id: CALL.id, content: 'x' },
  ]
  await completions.create({ model: MODEL, messages })
  return (service.asked.at(-1)!.body as { messages: unknown[] }).messages[1]
}

function whole(said: object): Script {
  const choice = { index: 0, message: { role: 'assistant', ...said }, finish_reason: 'stop' }
  return answerJson(providerReply({ choices: [choice] }))
}

function streamed({ tool_calls: calls, ...said }: { tool_calls?: object[] }): Script {
  const delta = (fields: object) => ({ ...textChunk(''), choices: [{ index: 0, delta: fields }] })
  const indexed = calls?.map((call, index) => ({ index, ...call }))
  return answerEvents([
    delta({ role: 'assistant', ...said }),
    delta({ tool_calls: indexed }),
    finishChunk('tool_calls'),
    usageChunk(COUNTS),
  ])
}

describe.each(['reasoning', 'reasoning_content'])('a provider that replies with %s', (name) => {
  it.each([
    ['in a JSON reply, after a short prompt', 'Hi', false],
    ['in a JSON reply, after a long prompt', LONG, false],
    ['in a stream, after a short prompt', 'Hi', true],
    ['in a stream, after a long prompt', LONG, true],
  ])('gets its own message back %s', async (_, question, stream) => {
    const said = { content: null, refusal: null, [name]: 'Hm.', tool_calls: [CALL] }
    const { refusal: _refusal, ...sent } = said
    expect(await goOn(question, said, stream)).toEqual({ role: 'assistant', ...sent })
  })
})

it.each([true, false])(
  'a provider that refuses its reasoning gets everything else back (stream: %s)',
  async (stream) => {
    const thinking = [{ type: 'text', text: 'Hm.' }]
    const said = { refusal: null, content: [{ type: 'thinking', thinking }], tool_calls: [CALL] }
    const extra = {
      loc: ['body', 'messages', 1, 'assistant', 'reasoning'],
      msg: 'Extra inputs are not permitted',
    }
    const got = await goOn('Hi', said, stream, answerJson({ detail: [extra] }, 422))
    expect(got).toEqual({ role: 'assistant', content: stream ? null : '', tool_calls: [CALL] })
  },
)
