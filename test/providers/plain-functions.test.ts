import { describe, expect, it } from 'vitest'
import type { ProviderEvent } from '../../src/contracts/providers.js'
import { writeFields } from '../../src/conversation/chat-fields.js'
import type { ConversationRequest } from '../../src/conversation/conversation.js'
import type { CallPiece, ProviderDelta } from '../../src/conversation/delta.js'
import { readFields } from '../../src/conversation/read-fields.js'
import { type TakenTools, withPlainFunctions } from '../../src/providers/plain-functions.js'
import { createCall } from './openai-compatible/run-call.js'

const custom = { type: 'custom', custom: { name: 'patch', description: 'Changes files' } }
const plain = { type: 'function', function: { name: 'look' } }

/** Sends a request to an adapter whose provider says this, in one event for each delta. */
async function ask(fields: Record<string, unknown>, taken: TakenTools, said: readonly ProviderDelta[]) {
  const sent: ConversationRequest[] = []
  const events: ProviderEvent[] = []
  const run = withPlainFunctions(taken, async (call, take) => {
    sent.push(call.request)
    await take(said.map((delta) => ({ type: 'deltas', deltas: [delta] })))
    return { terminated: true }
  })
  const call = { ...createCall(), request: { model: 'm', turns: [], settings: readFields(fields) } }
  await run(call, (some) => {
    events.push(...some)
  })
  const given = events.flatMap((event) => (event.type === 'deltas' ? event.deltas : []))
  return { sent: writeFields(sent[0]!.settings), events, given }
}

const NONE: TakenTools = { customTools: false, singleCalls: true }
const piece = (call: number | undefined, input: string, more: Partial<CallPiece> = {}): CallPiece => ({
  type: 'call',
  choice: 0,
  call,
  form: 'function',
  input,
  ...more,
})
const END: ProviderDelta = { type: 'end', choice: 0, reason: 'tool_calls' }

describe('custom tools at a provider that has functions alone', () => {
  it('become functions, and come back as custom calls', async () => {
    const look = piece(1, '{}', { id: 'b', name: 'look' })
    const { given, sent } = await ask({ tools: [custom, plain], tool_choice: custom }, NONE, [
      piece(0, '', { id: 'a', name: 'patch' }),
      piece(0, '{"input":"*** '),
      look,
      piece(0, 'Begin\\n"}'),
      END,
    ])
    expect(sent.tools).toMatchObject([
      { type: 'function', function: { name: 'patch', description: 'Changes files' } },
      plain,
    ])
    expect(sent.tool_choice).toMatchObject({ type: 'function', function: { name: 'patch' } })
    expect(given).toEqual([
      piece(0, '', { id: 'a', name: 'patch', form: 'custom' }),
      piece(0, '*** ', { form: 'custom' }),
      look,
      piece(0, 'Begin\n', { form: 'custom' }),
      END,
    ])
  })

  it('give out arguments of another shape as the input, once the call or its choice ends', async () => {
    const { given } = await ask({ tools: [custom] }, NONE, [
      piece(0, '{"x":1}', { id: 'a', name: 'patch' }),
      piece(0, '', { isLast: true }),
      piece(1, '{"y":1}', { id: 'b', name: 'patch' }),
      END,
    ])
    expect(given).toEqual([
      piece(0, '', { id: 'a', name: 'patch', form: 'custom' }),
      piece(0, '{"x":1}', { form: 'custom', isLast: true }),
      piece(1, '', { id: 'b', name: 'patch', form: 'custom' }),
      piece(1, '{"y":1}', { form: 'custom' }),
      END,
    ])
  })

  it('belong to one call if the provider numbers none, also at the end of the choice', async () => {
    const { given } = await ask({ tools: [custom] }, NONE, [
      piece(undefined, '{"x"', { id: 'a', name: 'patch' }),
      piece(undefined, ':1}'),
      END,
    ])
    expect(given).toEqual([
      piece(undefined, '', { id: 'a', name: 'patch', form: 'custom' }),
      piece(undefined, '', { form: 'custom' }),
      piece(undefined, '{"x":1}', { form: 'custom' }),
      END,
    ])
  })

  it('stay as they are if the provider has custom tools', async () => {
    const { given, sent } = await ask({ tools: [custom] }, { ...NONE, customTools: true }, [END])
    expect(sent.tools).toEqual([custom])
    expect(given).toEqual([END])
  })
})

describe('functions of the older form', () => {
  const older = { functions: [{ name: 'look' }], function_call: { name: 'look' } }
  const look = piece(4, '{}', { id: 'a', name: 'look' })

  it('become tools, and the call comes back in the older form', async () => {
    const { given, sent } = await ask(older, { customTools: true, singleCalls: true }, [look, piece(4, ' ')])
    expect(sent).toEqual({
      tools: [plain],
      tool_choice: { type: 'function', function: { name: 'look' } },
      parallel_tool_calls: false,
    })
    expect(given).toEqual([{ ...look, form: 'older' }, piece(4, ' ', { form: 'older' })])
  })

  it('have room for one call in each choice, and report another', async () => {
    const inOther = { ...look, choice: 1 }
    const { events, given, sent } = await ask(
      { ...older, function_call: 'auto' },
      { customTools: true, singleCalls: false },
      [look, piece(5, '{}', { id: 'b', name: 'look' }), inOther],
    )
    expect(sent.tool_choice).toBe('auto')
    expect(sent).not.toHaveProperty('parallel_tool_calls')
    expect(given).toEqual([
      { ...look, form: 'older' },
      { ...inOther, form: 'older' },
    ])
    expect(events[2]).toEqual({ type: 'mended', kind: 'calls-dropped', dropped: 'tool_calls' })
  })
})
