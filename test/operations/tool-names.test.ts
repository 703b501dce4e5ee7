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
