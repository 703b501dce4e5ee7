import { afterEach, describe, expect, it } from 'vitest'
import type { ReplyReader, RouterOptions } from '../../src/index.js'
import { answerEvents, answerJson, finishChunk } from '../helpers/scripted-upstream.js'
import { calls, libraries, said } from './mends.js'
import { ask, BASE_COST, COUNTS, framesOf, providerReply, usageChunk, WireService } from './service.js'

const THOUGHT = 'Let me see.'
const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"fox"}' } }
const FIELDS = ['reasoning', 'reasoning_content'] as const
const NAMES = [['reasoning'], ['reasoning_content'], ['reasoning', 'reasoning_content']] as const

let service: WireService
afterEach(() => service.close())

/** A provider that thinks in these fields, then calls a tool. */
async function start(fields: readonly string[], options: Partial<RouterOptions> = {}): Promise<WireService> {
  service = await WireService.start({ router: () => options })
  const thought = (text: string) => Object.fromEntries(fields.map((field) => [field, text]))
  service.upstream.script(async (reply, request) => {
    if ((request.body as { stream?: boolean }).stream === true) {
      reply.head(200, { 'content-type': 'text/event-stream' })
      await reply.write(said({ role: 'assistant', ...thought('Let me ') }))
      await reply.write(said(thought('see.')))
      await reply.write(calls({ index: 0, ...CALL }))
      const end = [finishChunk('tool_calls'), usageChunk(COUNTS)].map((event) => JSON.stringify(event))
      await reply.write(`data: ${end.join('\n\ndata: ')}\n\ndata: [DONE]\n\n`)
    } else {
      reply.head(200, { 'content-type': 'application/json' })
      const message = { role: 'assistant', content: null, ...thought(THOUGHT), tool_calls: [CALL] }
      const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
      await reply.write(JSON.stringify(providerReply({ choices })))
    }
    reply.end()
  })
  return service
}

/** The text in each field of a reply. Checks its charge. */
async function fieldsSent(stream: boolean, headers: Record<string, string> = {}) {
  const response = await service.post(ask({ stream }), headers)
  const text = await response.text()
  expect({ status: response.status, text }).toMatchObject({ status: 200 })
  const replies = (stream ? framesOf(text) : [JSON.parse(text)]) as {
    choices: { delta?: Record<string, string>; message?: Record<string, string> }[]
    usage?: { cost: number }
  }[]
  expect(replies.at(-1)!.usage!.cost).toBe(Number(BASE_COST))
  const sent: Record<string, string> = {}
  for (const { delta, message } of replies.flatMap(({ choices }) => choices)) {
    for (const field of FIELDS) {
      const piece = (delta ?? message)?.[field]
      if (piece !== undefined) sent[field] = (sent[field] ?? '') + piece
    }
  }
  return sent
}

describe.each(NAMES.map((fields) => ({ fields, name: fields.join(' and ') })))(
  'a provider that thinks in $name',
  ({ fields }) => {
    it.each(Object.keys(libraries))('is read once, with its call, by %s', async (library) => {
      await start(fields)
      for (const stream of [true, false]) {
        const read = await libraries[library]!(service.host.baseUrl, stream)
        expect(read).toEqual({
          text: expect.stringMatching(/^(null)?$/),
          reasoning: library === 'openai' ? '' : THOUGHT,
          calls: [{ name: 'look', arguments: { at: 'fox' } }],
        })
      }
    })

    it.each([
      [undefined, ['reasoning_content']],
      ['OpenAI/JS 6.49.0', ['reasoning_content']],
      ['Agents/Python 0.9.0', ['reasoning_content']],
      ['Agents/JavaScript 0.14.3', ['reasoning']],
      ['ai/6.0.326 ai-sdk/openrouter/2.10.0 runtime/node.js/22', ['reasoning']],
      ['speakeasy-sdk/typescript 1.3.19 2.8 1.0.0 @openrouter/sdk', ['reasoning']],
    ] as const)('reaches the client with the user agent %s in %j', async (userAgent, expected) => {
      await start(fields)
      for (const stream of [true, false]) {
        const sent = await fieldsSent(stream, userAgent === undefined ? {} : { 'user-agent': userAgent })
        expect(sent).toEqual(Object.fromEntries(expected.map((field) => [field, THOUGHT])))
      }
    })

    it.each([
      ['reasoning', ['reasoning']],
      ['reasoning_content', ['reasoning_content']],
      ['both', FIELDS],
    ] as const)('reaches every client as the host chose: %s', async (reasoningName, expected) => {
      await start(fields, { reasoningName })
      for (const userAgent of ['Agents/JavaScript 0.14.3', 'x']) {
        for (const stream of [true, false]) {
          const sent = await fieldsSent(stream, { 'user-agent': userAgent })
          expect(sent).toEqual(Object.fromEntries(expected.map((field) => [field, THOUGHT])))
        }
      }
    })
  },
)

it('a host chooses the field for each request by its caller and user agent', async () => {
  const readers: ReplyReader[] = []
  await start(['reasoning_content'], {
    reasoningName(reader) {
      readers.push(reader)
      return reader.userAgent === 'Jan/0.7' ? 'reasoning' : undefined
    },
  })
  expect(await fieldsSent(true, { 'user-agent': 'Jan/0.7' })).toEqual({ reasoning: THOUGHT })
  expect(await fieldsSent(true, { 'user-agent': 'Jan/0.8' })).toEqual({ reasoning_content: THOUGHT })
  expect(readers).toMatchObject([
    { principal: { account: 'alice' }, userAgent: 'Jan/0.7' },
    { principal: { account: 'alice' }, userAgent: 'Jan/0.8' },
  ])
})

it.each<[string, () => never]>([
  [
    'throws',
    () => {
      throw new Error('x')
    },
  ],
  ['returns no name', () => 'thinking' as never],
])('a choice of the host that %s fails the request before anything is held', async (_what, reasoningName) => {
  service = await WireService.start({ router: () => ({ reasoningName }), expectsFaults: true })
  const response = await service.post(ask())
  expect([response.status, await response.json()]).toMatchObject([500, { error: { code: 'internal_error' } }])
  expect(service.asked).toEqual([])
})

it('a provider gets reasoning back in its own field, in whichever the client read it', async () => {
  service = await WireService.start()
  const spoken = (field: string) => ({
    choices: [
      { index: 0, message: { role: 'assistant', content: 'x', [field]: 'Hm.' }, finish_reason: 'stop' },
    ],
  })
  const user = { role: 'user', content: 'Hi' }
  const sentBack = (reply: object) => ask({ messages: [user, { role: 'assistant', content: 'x', ...reply }] })
  const lastReasoning = () => {
    const {
      content: _content,
      role: _role,
      ...rest
    } = (service.asked.at(-1)!.body as { messages: Record<string, unknown>[] }).messages[1]!
    return rest
  }
  service.upstream.script(answerJson(providerReply(spoken('reasoning'))))
  await service.post(sentBack({ reasoning_content: 'Hm.' }))
  expect(lastReasoning()).toEqual({ reasoning_content: 'Hm.' })
  await service.post(sentBack({ reasoning_content: 'Hm.' }))
  expect(lastReasoning()).toEqual({ reasoning: 'Hm.' })
  await service.post(sentBack({ reasoning_content: 'Hm.', reasoning: 'Hm.' }))
  expect(lastReasoning()).toEqual({ reasoning: 'Hm.' })
  await service.post(sentBack({ reasoning_content: 'Hm.', reasoning: 'Well.' }))
  expect(lastReasoning()).toEqual({ reasoning_content: 'Hm.', reasoning: 'Well.' })
  service.upstream.script(
    answerEvents([
      { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] },
      { choices: [{ index: 0, delta: { reasoning_content: 'Hm.' } }] },
      { choices: [{ index: 0, delta: { content: '"reasoning":"x"' } }] },
      finishChunk('stop'),
      usageChunk(COUNTS),
    ]),
  )
  await service.post(sentBack({ reasoning: 'Hm.' }))
  await service.post(sentBack({ reasoning: 'Hm.' }))
  expect(lastReasoning()).toEqual({ reasoning_content: 'Hm.' })
})
