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
  'a provider that sends its reasoning in $name',
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
    ] as const)(
      'reaches every client in the field that the host chose: %s',
      async (reasoningName, expected) => {
        await start(fields, { reasoningName })
        for (const userAgent of ['Agents/JavaScript 0.14.3', 'x']) {
          for (const stream of [true, false]) {
            const sent = await fieldsSent(stream, { 'user-agent': userAgent })
            expect(sent).toEqual(Object.fromEntries(expected.map((field) => [field, THOUGHT])))
          }
        }
      },
    )
  },
)

it('a host chooses the reasoning field for each request by its caller and user agent', async () => {
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
])(
  "a host's choice of a reasoning field that %s fails the request before anything is held",
  async (_what, reasoningName) => {
    service = await WireService.start({ router: () => ({ reasoningName }), expectsFaults: true })
    const response = await service.post(ask())
    expect([response.status, await response.json()]).toMatchObject([
      500,
      { error: { code: 'internal_error' } },
    ])
    expect(service.asked).toEqual([])
  },
)

it('a provider gets reasoning back in its own field, whichever field the client read', async () => {
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

const detail = (text: unknown, more: object = {}) => ({
  type: 'reasoning.text',
  text,
  format: 'unknown',
  index: 0,
  ...more,
})
const signed = { type: 'reasoning.text', text: '', signature: 'sig', format: 'anthropic-claude-v1', index: 0 }
const encrypted = { type: 'reasoning.encrypted', data: 'b64', format: 'google-gemini-v1', index: 0 }
const added = (text: string) => ({ type: 'reasoning.text', text, format: 'unknown' })

/** The details of the two pieces of {@link THOUGHT}, and those that OpenRouter's client gets in one body. */
const partly: Readonly<
  Record<string, readonly [first: unknown, second: unknown, inBody: readonly object[]]>
> = {
  'in both pieces': [[detail('Let me ')], [detail('see.')], [detail('Let me '), detail('see.')]],
  'in the first piece alone': [[detail('Let me ')], undefined, [detail('Let me '), added('see.')]],
  'in the second piece alone': [undefined, [detail('see.')], [added('Let me '), detail('see.')]],
  'in the first piece, and text for details in the second': [
    [detail('Let me ')],
    'text',
    [detail('Let me '), added('see.')],
  ],
  'of an unknown type in the first piece': [
    [detail('Let me ', { type: 'reasoning.idea' })],
    [detail('see.')],
    [detail('Let me ', { type: 'reasoning.idea' }), added('Let me '), detail('see.')],
  ],
  'in a format of tomorrow in the first piece': [
    [detail('Let me ', { format: 'new-v1' })],
    [detail('see.')],
    [detail('Let me ', { format: 'new-v1' }), added('Let me '), detail('see.')],
  ],
  'that come twice in the first piece': [
    [detail('Let me '), detail('Let me ')],
    [detail('see.')],
    [detail('Let me '), detail('see.')],
  ],
  'that come twice in the first piece alone': [
    [detail('Let me '), detail('Let me ')],
    undefined,
    [detail('Let me '), added('see.')],
  ],
  'that are only the signature': [undefined, [signed], [added(THOUGHT), signed]],
  'that are only encrypted': [undefined, [encrypted], [added(THOUGHT), encrypted]],
  'that are text and encrypted': [
    [detail('Let me ')],
    [encrypted],
    [detail('Let me '), added('see.'), encrypted],
  ],
}

describe.each(Object.entries(partly))('reasoning with details %s', (_what, [first, second, inBody]) => {
  const pieces = [
    { reasoning: 'Let me ', ...(first !== undefined && { reasoning_details: first }) },
    { reasoning: 'see.', ...(second !== undefined && { reasoning_details: second }) },
  ]
  const given = [first, second].filter(Array.isArray).flat()

  async function startPartly(sendsStream: boolean): Promise<void> {
    service = await WireService.start()
    const message = { role: 'assistant', content: 'x', reasoning: THOUGHT, reasoning_details: given }
    service.upstream.script(
      sendsStream
        ? answerEvents([
            ...pieces.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
            { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: null }] },
            finishChunk('stop'),
            usageChunk(COUNTS),
          ])
        : answerJson(providerReply({ choices: [{ index: 0, message, finish_reason: 'stop' }] })),
    )
  }

  const detailsSent = async (stream: boolean, userAgent: string) => {
    const sent = await (await service.post(ask({ stream }), { 'user-agent': userAgent })).text()
    const replies = (stream ? framesOf(sent) : [JSON.parse(sent)]) as {
      choices: Record<string, { reasoning_details?: object[] }>[]
      usage?: { cost: number }
    }[]
    expect(replies.at(-1)!.usage!.cost).toBe(Number(BASE_COST))
    return replies.flatMap(({ choices }) =>
      choices.flatMap(({ delta, message }) => (delta ?? message)?.reasoning_details ?? []),
    )
  }

  it.each([true, false])("is shown whole by OpenRouter's client, from a stream: %s", async (sendsStream) => {
    await startPartly(sendsStream)
    for (const stream of [true, false]) {
      const read = await libraries["OpenRouter's client"]!(service.host.baseUrl, stream)
      expect(read).toMatchObject({ text: 'x', reasoning: THOUGHT })
    }
    expect(await detailsSent(false, 'openrouter')).toEqual(inBody)
  })

  it.each([true, false])('reaches other clients as it came, from a stream: %s', async (sendsStream) => {
    await startPartly(sendsStream)
    for (const stream of [true, false]) expect(await detailsSent(stream, 'x')).toEqual(given)
  })
})

it('reasoning details with another text than the reasoning, or that no client can read, stay unchanged', async () => {
  const kept = [
    [{ type: 'reasoning.summary', summary: 'A look.', format: 'unknown', index: 0 }],
    [{ type: 'reasoning.idea', text: 'Let me ' }],
  ]
  service = await WireService.start()
  for (const reasoning_details of kept) {
    const message = { role: 'assistant', content: 'x', reasoning: THOUGHT, reasoning_details }
    service.upstream.script(
      answerJson(providerReply({ choices: [{ index: 0, message, finish_reason: 'stop' }] })),
    )
    for (const stream of [true, false]) {
      const sent = await (await service.post(ask({ stream }), { 'user-agent': 'openrouter' })).text()
      expect(sent).toContain(`"reasoning_details":${JSON.stringify(reasoning_details)}`)
    }
  }
})
