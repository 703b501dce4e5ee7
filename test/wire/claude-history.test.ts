import { afterEach, describe, expect, it } from 'vitest'
import { NO_RESULT } from '../../src/conversation/results.js'
import { anthropic } from '../../src/index.js'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import { answerJson } from '../helpers/scripted-upstream.js'
import { fakeModel } from '../providers/ai-sdk/models.js'
import { ask, WireService } from './service.js'

const BLOCKS = 'messages.1.content.0: Invalid `signature` in `thinking` block'
const BUDGET = 'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.'
const USAGE = { input_tokens: 11, output_tokens: 7 }
/** In billionths of a credit: 11 tokens of input and 7 of output at the prices of the service. */
const COST = 178_000n
const refusal = (message: string) =>
  answerJson({ type: 'error', error: { type: 'invalid_request_error', message } }, 400)
const fine = answerJson({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Fine.' }],
  stop_reason: 'end_turn',
  usage: USAGE,
})

let service: WireService
afterEach(() => service.close())

/** With a model that the adapter knows as one of Claude. */
const start = () =>
  WireService.start({
    adapter: (baseUrl) => {
      const claude = anthropic({ baseUrl })
      return {
        ...claude,
        converse: (call, take) =>
          claude.converse({ ...call, request: { ...call.request, model: 'claude-sonnet-4-5' } }, take),
      }
    },
  })

const user = { role: 'user', content: 'Hi' } as const
const thought = {
  role: 'assistant',
  content: 'Well.',
  reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature: 'elsewhere', index: 0 }],
}
const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }
const bodies = () => service.asked.map(({ body }) => body as { thinking?: object; messages: object[] })

describe.each([true, false])('an earlier reply that Claude refuses (stream: %s)', (stream) => {
  it.each([
    ['its thinking', BLOCKS, '"thinking":"Hm."'],
    ['changed blocks', '`thinking` or `redacted_thinking` blocks cannot be modified', '"thinking":"Hm."'],
  ])('for %s is removed, and the call is sent again and charged once', async (_what, words, removed) => {
    service = await start()
    service.upstream.scriptOnce(refusal(words))
    service.upstream.script(fine)
    const before = await service.posted('alice')
    const response = await service.post(ask({ messages: [user, thought, user], stream }))
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Fine.')])
    await service.event('request-end')
    expect(before - (await service.posted('alice'))).toBe(COST)
    const [first, second, ...more] = bodies()
    expect(JSON.stringify(first)).toContain(removed)
    expect(JSON.stringify(second)).not.toContain(removed)
    expect(JSON.stringify(second)).toContain('Well.')
    expect(more).toEqual([])
  })

  it('for missing thinking leads to a call without a thinking budget', async () => {
    service = await start()
    service.upstream.scriptOnce(refusal(BUDGET))
    service.upstream.script(fine)
    const messages = [
      user,
      { ...thought, content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ]
    const reply = await service.post(
      ask({ messages, stream, max_tokens: 4_000, reasoning: { max_tokens: 1_024 } }),
    )
    expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining('Fine.')])
    expect(bodies().map(({ thinking }) => thinking)).toEqual([
      { type: 'enabled', budget_tokens: 1_024 },
      undefined,
    ])
    await service.event('request-end')
  })

  it('twice stays refused, and nothing is charged', async () => {
    service = await start()
    service.upstream.script(refusal(BLOCKS))
    const before = await service.posted('alice')
    const response = await service.post(ask({ messages: [user, thought, user], stream }))
    expect(response.status).toBe(400)
    await response.text()
    await service.event('request-end')
    expect(await service.posted('alice')).toBe(before)
    expect(service.asked).toHaveLength(2)
  })
})

it('aiSdk gives a tool call without a result one that says so', async () => {
  const fake = fakeModel({})
  service = await WireService.start({ adapter: () => aiSdk({ model: () => fake }) })
  const two = { role: 'assistant', content: null, tool_calls: [call, { ...call, id: 'b' }] }
  const messages = [user, two, { role: 'tool', tool_call_id: 'b', content: 'x' }, user]
  await service.post(ask({ messages }))
  const result = (toolCallId: string, value: string) => ({
    type: 'tool-result',
    toolCallId,
    toolName: 'look',
    output: { type: 'text', value },
  })
  expect(fake.calls[0]!.prompt[2]).toEqual({
    role: 'tool',
    content: [result('a', NO_RESULT), result('b', 'x')],
  })
  expect(fake.calls[0]!.prompt).toHaveLength(4)
})
