import { describe, expect, it } from 'vitest'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import { writeFields } from '../../src/conversation/chat-fields.js'
import type { ConversationRequest } from '../../src/conversation/conversation.js'
import { readFields } from '../../src/conversation/read-fields.js'
import { isObject } from '../../src/protocol/json-values.js'
import { type TakenTools, withPlainFunctions } from '../../src/providers/plain-functions.js'
import { createCall } from './openai-compatible/run-call.js'

const custom = { type: 'custom', custom: { name: 'patch', description: 'Changes files' } }
const plain = { type: 'function', function: { name: 'look' } }

/** Sends a request to an adapter that replies with these events. */
async function ask(fields: Record<string, unknown>, taken: TakenTools, replies: readonly ProviderEvent[]) {
  const sent: ConversationRequest[] = []
  const events: ProviderEvent[] = []
  const run = withPlainFunctions(taken, async (call, take) => {
    sent.push(call.request)
    await take(replies)
    return { terminated: true }
  })
  const call = { ...createCall(), request: { model: 'm', turns: [], settings: readFields(fields) } }
  await run(call, (some) => {
    events.push(...some)
  })
  return { sent: writeFields(sent[0]!.settings), events }
}

const NONE: TakenTools = { customTools: false, singleCalls: true }
const chunk = (delta: object, reason: string | null = null): ProviderEvent => ({
  type: 'chunk',
  chunk: { choices: [{ index: 0, delta, finish_reason: reason }] },
})
const piece = (index: number, args: string, named: object = {}) => ({
  tool_calls: [{ index, ...named, function: { ...('id' in named && { name: 'patch' }), arguments: args } }],
})
const deltasOf = (events: readonly ProviderEvent[]) =>
  events
    .map((event) => (event.type === 'chunk' ? event.chunk.choices : []))
    .flatMap((choices) => choices?.map(deltaOf))
const deltaOf = (choice: unknown) => (isObject(choice) ? choice.delta : undefined)

describe('custom tools at a provider that has functions alone', () => {
  it('become functions, and come back as custom calls, in a stream', async () => {
    const { events, sent } = await ask({ tools: [custom, plain], tool_choice: custom }, NONE, [
      chunk(piece(0, '', { id: 'a', type: 'function' })),
      chunk(piece(0, '{"input":"*** ')),
      chunk(piece(0, 'Begin\\n"}')),
      chunk({
        tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'look', arguments: '{}' } }],
      }),
      chunk({}, 'tool_calls'),
    ])
    expect(sent.tools).toMatchObject([
      { type: 'function', function: { name: 'patch', description: 'Changes files' } },
      plain,
    ])
    expect(sent.tool_choice).toMatchObject({ type: 'function', function: { name: 'patch' } })
    expect(deltasOf(events)).toEqual([
      { tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'patch', input: '' } }] },
      { tool_calls: [{ index: 0, custom: { input: '*** ' } }] },
      { tool_calls: [{ index: 0, custom: { input: 'Begin\n' } }] },
      { tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'look', arguments: '{}' } }] },
      {},
    ])
  })

  it('come back in a body, whatever shape the model gave their arguments', async () => {
    const called = (args: string) => ({
      id: 'a',
      type: 'function',
      function: { name: 'patch', arguments: args },
    })
    const message = { role: 'assistant', content: null, tool_calls: [called('{"input":"x"}'), called('y')] }
    const { events } = await ask({ tools: [custom] }, NONE, [
      { type: 'completion', completion: { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] } },
    ])
    const given = (input: string) => ({ id: 'a', type: 'custom', custom: { name: 'patch', input } })
    expect(events).toMatchObject([
      { completion: { choices: [{ message: { tool_calls: [given('x'), given('y')] } }] } },
    ])
  })

  it('give out at the end what only then is known to be the input', async () => {
    const { events } = await ask({ tools: [custom] }, NONE, [
      chunk(piece(0, '{"x":1}', { id: 'a', type: 'function' })),
      chunk({}, 'tool_calls'),
    ])
    expect(deltasOf(events)[1]).toEqual({ tool_calls: [{ index: 0, custom: { input: '{"x":1}' } }] })
  })

  it('stay as they are where they are known', async () => {
    const { events, sent } = await ask({ tools: [custom] }, { ...NONE, customTools: true }, [chunk({})])
    expect(sent.tools).toEqual([custom])
    expect(deltasOf(events)).toEqual([{}])
  })
})

describe('functions of the older form', () => {
  const older = { functions: [{ name: 'look' }], function_call: { name: 'look' } }
  const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }

  it('become tools, and the call comes back in the older form', async () => {
    const { events, sent } = await ask(older, { customTools: true, singleCalls: true }, [
      chunk({ tool_calls: [{ index: 0, ...call }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ' ' } }] }, 'tool_calls'),
    ])
    expect(sent).toEqual({
      tools: [plain],
      tool_choice: { type: 'function', function: { name: 'look' } },
      parallel_tool_calls: false,
    })
    expect(deltasOf(events)).toEqual([
      { function_call: { name: 'look', arguments: '{}' } },
      { function_call: { arguments: ' ' } },
    ])
  })

  it('have room for one call, and report another', async () => {
    const message = { role: 'assistant', content: null, tool_calls: [call, { ...call, id: 'b' }] }
    const { events, sent } = await ask(
      { ...older, function_call: 'auto' },
      { customTools: true, singleCalls: false },
      [{ type: 'completion', completion: { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] } }],
    )
    expect(sent.tool_choice).toBe('auto')
    expect(sent).not.toHaveProperty('parallel_tool_calls')
    expect(events).toEqual([
      {
        type: 'completion',
        completion: {
          choices: [
            {
              index: 0,
              message: { role: 'assistant', content: null, function_call: call.function },
              finish_reason: 'tool_calls',
            },
          ],
        },
      },
      { type: 'mended', kind: 'calls-dropped', dropped: 'tool_calls' },
    ])
  })
})
