import { afterEach, describe, expect, it } from 'vitest'
import { answerEvents, finishChunk, type Script } from '../helpers/scripted-upstream.js'
import { ALICE, COUNTS, MODEL, perform, type Service, startService } from '../routing/service.js'

let service: Service
afterEach(() => service.close())

/** Too long for a chat, and with dots, which no API takes. */
const NAME = `files.${'of_the_whole_project.'.repeat(4)}read`
const CUSTOM = `${NAME}.as_text`
const FUNCTION = { name: NAME, parameters: { type: 'object', properties: {} } }
const SAID = [{ role: 'user', content: 'Read it' }]

type Delta = (name: string | undefined, isFirst: boolean) => object

/** Streams a call whose name comes in pieces of this length, and then its input. */
function inPieces(length: number, nameIn: (body: never) => string, delta: Delta): Script {
  return async (reply, { body }) => {
    const name = nameIn(body as never)
    const pieces = name.match(new RegExp(`.{1,${length}}`, 'g'))!.map((piece, at) => delta(piece, at === 0))
    const chunks = [...pieces, delta(undefined, false)].map((piece) => ({
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: piece, finish_reason: null }],
    }))
    const usage = { object: 'chat.completion.chunk', choices: [], usage: COUNTS }
    await perform(answerEvents([...chunks, finishChunk('tool_calls'), usage]), reply)
  }
}

const ofFunction: Delta = (name, isFirst) => ({
  tool_calls: [
    {
      index: 0,
      ...(isFirst && { id: 'call_1', type: 'function' }),
      function: name === undefined ? { arguments: '{"a":1}' } : { name },
    },
  ],
})
const ofCustom: Delta = (name, isFirst) => ({
  tool_calls: [
    {
      index: 0,
      ...(isFirst && { id: 'call_1' }),
      type: 'custom',
      custom: name === undefined ? { input: 'a' } : { name },
    },
  ],
})

async function events(path: string, body: object) {
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ALICE}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, stream: true, ...body }),
  })
  const text = await response.text()
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape, each member of which is asserted
  const read = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]): any => JSON.parse(json!))
  return { read, text }
}

const functionName = ({ tools }: { tools: readonly { function: { name: string } }[] }) =>
  tools[0]!.function.name
const customName = ({ tools }: { tools: readonly { custom: { name: string } }[] }) => tools[0]!.custom.name

describe.each([1, 7, 200])(
  'the name of a tool that a provider knows by another, in pieces of %i',
  (length) => {
    it('is the own one of a client of chats', async () => {
      service = await startService()
      service.upstreams[0]!.script(inPieces(length, functionName, ofFunction))
      const tools = [{ type: 'function', function: FUNCTION }]
      const { read } = await events('/chat/completions', { messages: SAID, tools })
      const calls = read.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
      expect(calls.map((call) => call.function.name).filter(Boolean)).toEqual([NAME])
      expect(calls.map((call) => call.function.arguments ?? '').join('')).toBe('{"a":1}')
      expect(service.upstreams[0]!.requests[0]!.text).not.toContain(NAME)
    })

    it('is the own one of a client of chats with a custom tool', async () => {
      service = await startService()
      service.upstreams[0]!.script(inPieces(length, customName, ofCustom))
      const tools = [{ type: 'custom', custom: { name: CUSTOM } }]
      const { read } = await events('/chat/completions', { messages: SAID, tools })
      const calls = read.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
      expect(calls.map((call) => call.custom.name).filter(Boolean)).toEqual([CUSTOM])
    })

    it('is the own one of a client of responses', async () => {
      service = await startService()
      service.upstreams[0]!.script(inPieces(length, functionName, ofFunction))
      const { read, text } = await events('/responses', {
        input: SAID,
        tools: [{ type: 'function', ...FUNCTION }],
      })
      const { output } = read.at(-1).response
      expect(output).toMatchObject([{ type: 'function_call', name: NAME, arguments: '{"a":1}' }])
      expect(text).not.toContain(functionName(service.upstreams[0]!.requests[0]!.body as never))
    })

    it('is the own one of a client of messages', async () => {
      service = await startService()
      service.upstreams[0]!.script(inPieces(length, functionName, ofFunction))
      const tools = [{ name: NAME, input_schema: FUNCTION.parameters }]
      const { read } = await events('/messages', { messages: SAID, max_tokens: 50, tools })
      const blocks = read.flatMap((event) => event.content_block ?? [])
      expect(blocks).toMatchObject([{ type: 'tool_use', name: NAME }])
    })
  },
)

describe('the name of a function that a provider knows by another', () => {
  it('is the own one of a client with the older form of tools', async () => {
    service = await startService()
    const nameIn = ({ functions }: { functions: readonly { name: string }[] }) => functions[0]!.name
    const older: Delta = (name) => ({ function_call: name === undefined ? { arguments: '{}' } : { name } })
    service.upstreams[0]!.script(inPieces(200, nameIn, older))
    const { read } = await events('/chat/completions', { messages: SAID, functions: [FUNCTION] })
    const called = read.flatMap(({ choices }) => choices[0]?.delta.function_call ?? [])
    expect(called.map(({ name }) => name).filter(Boolean)).toEqual([NAME])
  })
})

describe('the name of a tool that would make a reply long', () => {
  const parameters = { type: 'object', properties: {} }
  const SHAPES: Readonly<
    Record<string, readonly [path: string, param: string, body: (name: string) => object]>
  > = {
    'a function of a chat': [
      '/chat/completions',
      'tools.0.function.name',
      (name) => ({ messages: SAID, tools: [{ type: 'function', function: { name, parameters } }] }),
    ],
    'a custom tool of a chat': [
      '/chat/completions',
      'tools.0.custom.name',
      (name) => ({ messages: SAID, tools: [{ type: 'custom', custom: { name } }] }),
    ],
    'a function of the older form': [
      '/chat/completions',
      'functions.0.name',
      (name) => ({ messages: SAID, functions: [{ name, parameters }] }),
    ],
    'a function of Responses': [
      '/responses',
      'tools.0.name',
      (name) => ({ input: 'Read it', store: false, tools: [{ type: 'function', name, parameters }] }),
    ],
    'a custom tool of Responses': [
      '/responses',
      'tools.0.name',
      (name) => ({ input: 'Read it', store: false, tools: [{ type: 'custom', name }] }),
    ],
    'a namespace': [
      '/responses',
      'tools.0.name',
      (name) => ({
        input: 'Read it',
        store: false,
        tools: [{ type: 'namespace', name, tools: [{ type: 'function', name: 'read', parameters }] }],
      }),
    ],
    'a function in a namespace': [
      '/responses',
      'tools.0.tools.0.name',
      (name) => ({
        input: 'Read it',
        store: false,
        tools: [{ type: 'namespace', name: 'files', tools: [{ type: 'function', name, parameters }] }],
      }),
    ],
    'a namespace that a search has found': [
      '/responses',
      'input.1.tools.0.name',
      (name) => ({
        store: false,
        input: [
          { type: 'tool_search_call', call_id: 'call_1', execution: 'client', arguments: {} },
          {
            type: 'tool_search_output',
            call_id: 'call_1',
            execution: 'client',
            tools: [{ type: 'namespace', name, tools: [{ type: 'function', name: 'read', parameters }] }],
          },
        ],
      }),
    ],
    'a function that the client adds later': [
      '/responses',
      'input.1.tools.0.name',
      (name) => ({
        store: false,
        input: [
          { type: 'message', role: 'user', content: 'Read it' },
          { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name, parameters }] },
        ],
      }),
    ],
    'a tool of Messages': [
      '/messages',
      'tools.0.name',
      (name) => ({ max_tokens: 100, messages: SAID, tools: [{ name, input_schema: parameters }] }),
    ],
  }

  it.each(Object.entries(SHAPES))('is refused before the hold: %s', async (_what, [path, param, body]) => {
    service = await startService()
    const ask = (name: string) =>
      fetch(`${service.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ALICE}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: MODEL, ...body(name) }),
      })
    const refused = await ask('n'.repeat(513))
    expect(refused.status).toBe(400)
    expect(await refused.text()).toContain(`${param} must be a string of at most 512 characters`)
    expect(service.upstreams[0]!.requests).toEqual([])
    expect((await ask('n'.repeat(512))).status).toBe(200)
  })

  it('does not come back if it is only the name of an earlier call', async () => {
    service = await startService()
    const asked = `f${'n'.repeat(2_000)}`
    service.upstreams[0]!.script(async (reply, { body }) => {
      const [, call] = (
        body as { messages: readonly { tool_calls?: readonly { function: { name: string } }[] }[] }
      ).messages
      const name = call!.tool_calls![0]!.function.name
      expect(name.length).toBe(64)
      await perform(
        answerEvents([
          {
            object: 'chat.completion.chunk',
            choices: [{ index: 0, delta: ofFunction(name, true), finish_reason: null }],
          },
          finishChunk('tool_calls'),
          { object: 'chat.completion.chunk', choices: [], usage: COUNTS },
        ]),
        reply,
      )
    })
    const called = { id: 'call_0', type: 'function', function: { name: asked, arguments: '{}' } }
    const { text } = await events('/chat/completions', {
      messages: [
        ...SAID,
        { role: 'assistant', tool_calls: [called] },
        { role: 'tool', tool_call_id: 'call_0', content: 'read' },
      ],
      tools: [{ type: 'function', function: { name: 'read', parameters } }],
    })
    expect(text).toContain('"name":"fnnn')
    expect(text).not.toContain(asked)
  })
})
