import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import { type FakeModel, fakeModel } from '../providers/ai-sdk/models.js'
import { API_KEY, ask, BASE_COST, MODEL, WireService } from './service.js'

type Part = Readonly<Record<string, unknown>>

const USAGE = {
  inputTokens: { total: 11, noCache: 7, cacheRead: 4 },
  outputTokens: { total: 7, text: 7 },
}
const COST = BigInt(BASE_COST.slice(2).padEnd(9, '0'))

let service: WireService | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

/** A model that thinks and calls two tools, as the package of its provider gives its reply. */
function model(thought: Part, call: Part, more: FakeModel = {}) {
  const calls = ['a', 'b'].map((toolCallId, index) => ({
    type: 'tool-call',
    toolCallId,
    toolName: 'look',
    input: '{"in":"Rome"}',
    ...(index === 0 && call),
  }))
  const finish = { finishReason: { unified: 'tool-calls', raw: 'STOP' }, usage: USAGE }
  return fakeModel({
    result: { content: [{ type: 'reasoning', text: 'Hm. Well.', ...thought }, ...calls], ...finish },
    parts: [
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'Hm. Well.' },
      { type: 'reasoning-delta', id: 'r', delta: '', ...thought },
      { type: 'reasoning-end', id: 'r' },
      { type: 'tool-input-start', id: 'a', toolName: 'look' },
      { type: 'tool-input-delta', id: 'a', delta: '{"in":"Rome"}' },
      { type: 'tool-input-end', id: 'a' },
      ...calls,
      { type: 'finish', ...finish },
    ],
    ...more,
  })
}

/** Asks once, sends the reply back as the openai library assembled it, and returns it with the prompt that came of it. */
async function goOn(fake: ReturnType<typeof fakeModel>, stream: boolean, without: readonly string[] = []) {
  service = await WireService.start({ adapter: () => aiSdk({ model: () => fake }) })
  const client = new OpenAI({ baseURL: service.host.baseUrl, apiKey: API_KEY, maxRetries: 0 })
  const user = { role: 'user' as const, content: 'Hi' }
  const before = await service.posted('alice')
  const asked = { model: MODEL, messages: [user] }
  const { completions } = client.chat
  const reply = stream
    ? await completions.stream(asked).finalChatCompletion()
    : await completions.create(asked)
  await service.event('request-end')
  expect(before - (await service.posted('alice'))).toBe(COST)
  const message = reply.choices[0]!.message as OpenAI.ChatCompletionMessage & Record<string, unknown>
  const sent = { ...message }
  for (const name of without) delete sent[name]
  if (without.includes('extra_content')) {
    sent.tool_calls = sent.tool_calls!.map((call) => ({ ...call, extra_content: undefined }))
  }
  const results = ['a', 'b'].map((id) => ({ role: 'tool' as const, tool_call_id: id, content: 'x' }))
  await completions.create({ model: MODEL, messages: [user, sent, ...results] })
  return { message, prompt: fake.calls.at(-1)!.prompt[1]!.content as unknown as readonly Part[] }
}

const call = (toolCallId: string, more: object = {}) => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'look',
  input: { in: 'Rome' },
  ...more,
})
const google = (thoughtSignature: string) => ({ providerMetadata: { google: { thoughtSignature } } })
const googleOptions = (thoughtSignature: string) => ({ providerOptions: { google: { thoughtSignature } } })

describe.each([false, true])('in a conversation with stream: %s,', (stream) => {
  it.each(['google', 'vertex'])('a thought and a call that Google signed, by %s, come back', async (name) => {
    const signed = (thoughtSignature: string) => ({ providerMetadata: { [name]: { thoughtSignature } } })
    const { message, prompt } = await goOn(model(signed('s1'), signed('s2')), stream)
    expect(message).toMatchObject({
      reasoning_content: 'Hm. Well.',
      reasoning_details: [
        { type: 'reasoning.text', text: 'Hm. Well.', signature: 's1', format: 'google-gemini-v1' },
        { type: 'reasoning.encrypted', id: 'a', data: 's2', format: 'google-gemini-v1' },
      ],
      tool_calls: [{ extra_content: { google: { thought_signature: 's2' } } }, { id: 'b' }],
    })
    expect(prompt).toEqual([
      { type: 'reasoning', text: 'Hm. Well.', ...googleOptions('s1') },
      call('a', googleOptions('s2')),
      call('b'),
    ])
  })

  it('the signature of a call comes back from reasoning_details alone', async () => {
    const { prompt } = await goOn(model({}, google('s2')), stream, ['extra_content'])
    expect(prompt).toEqual([
      { type: 'reasoning', text: 'Hm. Well.' },
      call('a', googleOptions('s2')),
      call('b'),
    ])
  })

  it.each([
    ['anthropic.messages', 'anthropic'],
    ['amazon-bedrock', 'bedrock'],
  ])('a thought that Claude signed comes back to %s', async (provider, name) => {
    const signed = { providerMetadata: { [name]: { signature: 's1' } } }
    const fake = Object.assign(model(signed, {}, { provider }), { modelId: 'claude-sonnet-4-5' })
    const { message, prompt } = await goOn(fake, stream)
    expect(message).toMatchObject({
      reasoning_details: [
        { type: 'reasoning.text', text: 'Hm. Well.', signature: 's1', format: 'anthropic-claude-v1' },
      ],
    })
    expect(prompt[0]).toEqual({
      type: 'reasoning',
      text: 'Hm. Well.',
      providerOptions: { [name]: { signature: 's1' } },
    })
  })

  it('a thought that only Claude can read comes back', async () => {
    const hidden = { providerMetadata: { anthropic: { redactedData: 'd' } } }
    const { message, prompt } = await goOn(model(hidden, {}, { provider: 'anthropic.messages' }), stream)
    expect(message).toMatchObject({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'd' }] })
    expect(prompt[0]).toEqual({
      type: 'reasoning',
      text: '',
      providerOptions: { anthropic: { redactedData: 'd' } },
    })
  })

  it('unsigned thoughts come back, but not to Claude', async () => {
    const { prompt } = await goOn(model({}, {}), stream)
    expect(prompt).toEqual([{ type: 'reasoning', text: 'Hm. Well.' }, call('a'), call('b')])
    await service!.close()
    const claude = await goOn(model({}, {}, { provider: 'anthropic.messages' }), stream)
    expect(claude.prompt).toEqual([call('a'), call('b')])
  })

  it.each([
    ['gemini-3-pro-preview', [call('a', googleOptions('skip_thought_signature_validator')), call('b')]],
    ['gemini-2.5-pro', [call('a'), call('b')]],
  ])('%s accepts calls of another model', async (modelId, calls) => {
    const fake = Object.assign(model({}, {}, { provider: 'google.generative-ai' }), { modelId })
    expect((await goOn(fake, stream)).prompt.slice(1)).toEqual(calls)
  })
})

it('a prompt has no empty messages, and for Gemini all system messages come first', async () => {
  const fake = model({}, {}, { provider: 'google.generative-ai' })
  service = await WireService.start({ adapter: () => aiSdk({ model: () => fake }) })
  const messages = [
    { role: 'system', content: '' },
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: ' ' },
    { role: 'developer', content: 'Be brief.' },
    { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{"x"' } },
    { role: 'function', name: 'look', content: 'y' },
  ]
  expect((await service.post(ask({ messages }))).status).toBe(200)
  expect(fake.calls[0]!.prompt).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    {
      role: 'assistant',
      content: [
        { type: 'tool-call', toolCallId: 'function_call_4', toolName: 'look', input: { arguments: '{"x"' } },
      ],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'function_call_4',
          toolName: 'look',
          output: { type: 'text', value: 'y' },
        },
      ],
    },
  ])
})
