import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ProviderError } from '../../../src/base/errors.js'
import type { ChatRequest } from '../../../src/protocol/chat-request.js'
import { openaiCompatible } from '../../../src/providers/openai-compatible/index.js'
import { fieldsAfter, formAfter } from '../../../src/providers/openai-compatible/omissions.js'
import { buildRequestBody, FULL_FORM } from '../../../src/providers/openai-compatible/request.js'
import { cpuMsOf } from '../../helpers/cpu-time.js'
import { answerEvents, answerJson, finishChunk, textChunk } from '../../helpers/scripted-upstream.js'
import { type CallOptions, createCall, openAdapter, runCall, textOf } from './run-call.js'

type Refusal = readonly [status: number, body: object]

const extra = (...loc: unknown[]) => ({ type: 'extra_forbidden', loc: ['body', ...loc], msg: 'Extra inputs' })
const refusing = (...loc: unknown[]) => ({
  object: 'error',
  message: { detail: [extra(...loc)] },
  param: null,
})
const usageExtra = extra('stream_options', 'include_usage')

/** Errors of Mistral, Azure's models, servers on vLLM and Groq. */
const USAGE_REFUSALS: readonly Refusal[] = [
  [422, refusing('stream_options', 'include_usage')],
  [422, { detail: [usageExtra] }],
  [400, { detail: "Extra parameters ['stream_options'] are not allowed." }],
  [422, { error: { code: 'Invalid input', message: JSON.stringify({ detail: [usageExtra] }), status: 422 } }],
  [400, { object: 'error', message: "[{'loc': ('body', 'stream_options')}]", code: 400 }],
  [400, { error: { message: "property 'stream_options' is unsupported, did you mean 'stream'?" } }],
  [400, { error: { message: 'Unknown parameter.', param: 'stream_options' } }],
]
/** Those and errors of Fireworks and Cerebras. */
const REASONING_REFUSALS: readonly Refusal[] = [
  [422, refusing('messages', 1, 'assistant', 'reasoning')],
  [422, { detail: [extra('messages', 1, 'assistant', 'reasoning_content')] }],
  [400, { error: { message: "Extra inputs are not permitted, field: 'messages[1].reasoning'" } }],
  [400, { error: { message: 'messages.1.reasoning_details: Extra inputs are not permitted' } }],
  [
    400,
    {
      error: { message: "'messages.1' : property 'reasoning_content' is unsupported, did you mean 'role'?" },
    },
  ],
  [
    400,
    { message: "property 'messages.1.assistant.reasoning_content' is unsupported", code: 'wrong_api_format' },
  ],
]
const USAGE = USAGE_REFUSALS[0]!
const REASONING = REASONING_REFUSALS[0]!
const refuse = ([status, body]: Refusal) => answerJson(body, status)

const ASKS = { stream: true, stream_options: { include_usage: true } }
const { request: short } = createCall()
const said = { role: 'assistant', content: 'Hm.', name: 'bot' }
const reasons: ChatRequest = {
  ...short,
  messages: [
    ...short.messages,
    { ...said, reasoning: 'a', reasoning_details: [{ text: 'a' }] },
    ...short.messages,
  ],
}
const withoutReasons: ChatRequest = { ...short, messages: [...short.messages, said, ...short.messages] }
const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

let opened: Awaited<ReturnType<typeof openAdapter>>
beforeEach(async () => {
  opened = await openAdapter()
  opened.upstream.script(answerEvents([textChunk('Hello'), finishChunk('stop', { usage })]))
})
afterEach(() => opened.close())

const asked = () => opened.upstream.requests.map(({ body }) => body)

async function succeed(options: CallOptions = {}): Promise<void> {
  const { error, events, terminated } = await runCall(opened.adapter, options)
  expect([error, textOf(events), terminated]).toEqual([undefined, 'Hello', true])
  expect(events).toContainEqual({ type: 'usage', usage: expect.objectContaining({ completion: 7 }) })
}

describe('a provider that takes less than a client sends', () => {
  const refusing = (message: string, param?: string) => refuse([400, { error: { message, param } }])
  const ask = (more: object) => ({ request: { ...short, ...more } })
  const sent = (more: object) => ({ ...short, ...ASKS, ...more })
  const reported = (dropped: string) => ({ type: 'mended', kind: 'parameter-ignored', dropped })

  it.each([
    'Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text`',
    'messages[0].content must be a string',
    'this model does not support image input',
    'llama is not a multimodal model',
  ])('gets words in place of images and files, which is reported: %s', async (words) => {
    opened.upstream.scriptOnce(refusing(words))
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
    ]
    const { events } = await runCall(opened.adapter, ask({ messages: [{ role: 'user', content }] }))
    expect(asked()[1]).toMatchObject({
      messages: [
        {
          role: 'user',
          content:
            'What is this?\n\n[An image was left out here: this model reads only text.]\n\n[a.pdf was left out here: this model reads only text.]',
        },
      ],
    })
    expect(events.slice(0, 2)).toEqual([reported('image_url'), reported('file')])
  })

  it('gets a reply marked as the beginning of its own, if only a result that belongs further up came behind it', async () => {
    const message =
      'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant'
    opened.upstream.scriptOnce(refusing(message))
    const called = [{ id: 'abcdefghi', type: 'function', function: { name: 'look', arguments: '{}' } }]
    const messages = [
      { role: 'assistant', content: null, tool_calls: called },
      { role: 'assistant', content: 'It is' },
      { role: 'tool', tool_call_id: 'abcdefghi', content: 'Sun' },
    ]
    await succeed(ask({ messages }))
    const [calls, reply, result] = messages
    expect(asked()[1]).toMatchObject({ messages: [calls, result, { ...reply, prefix: true }] })
  })

  it('gets as many stop sequences as it says that it takes, which is reported', async () => {
    opened.upstream.scriptOnce(
      refusing("Invalid 'stop': array too long. Expected an array with maximum length 4, but got 5.", 'stop'),
    )
    const { events } = await runCall(opened.adapter, ask({ stop: ['1', '2', '3', '4', '5'] }))
    expect(asked()[1]).toEqual(sent({ stop: ['1', '2', '3', '4'] }))
    expect(events[0]).toEqual(reported('stop'))
  })

  it.each([
    [{ max_tokens: 8_000 }, 'medium'],
    [{ effort: 'low' }, 'low'],
    [{ enabled: false }, 'none'],
    [{ enabled: true }, 'medium'],
  ])('gets the effort that is nearest to %j', async (reasoning, effort) => {
    opened.upstream.scriptOnce(refusing("Unknown parameter: 'reasoning'.", 'reasoning'))
    await succeed(ask({ reasoning }))
    expect(asked()[1]).toEqual(sent({ reasoning_effort: effort }))
  })

  it('gets no reasoning setting at all if it does not know an effort either, which is reported', async () => {
    opened.upstream.scriptOnce(
      refusing("property 'reasoning' is unsupported"),
      refusing("property 'reasoning_effort' is unsupported"),
    )
    const { events } = await runCall(opened.adapter, ask({ reasoning: { max_tokens: 8_000 } }))
    expect(asked()[2]).toEqual(sent({}))
    expect(events[0]).toEqual(reported('reasoning'))
  })

  it.each([
    'messages[1].role: unknown variant `function`, expected `tool`',
    'Invalid assistant message: content or tool_calls must be set',
  ])(
    "gets functions and their calls in today's form, and its calls come back in the older one: %s",
    async (message) => {
      opened.upstream.scriptOnce(refuse([400, { error: { message } }]))
      const [question] = short.messages
      const called = { name: 'look', arguments: '{}' }
      await succeed(
        ask({
          functions: [{ name: 'look' }],
          messages: [
            question,
            { role: 'assistant', content: null, function_call: called },
            { role: 'function', name: 'look', content: 'Sun' },
          ],
        }),
      )
      const id = 'function_call_1'
      expect(asked()[1]).toMatchObject({
        tools: [{ type: 'function', function: { name: 'look' } }],
        messages: [
          question,
          { role: 'assistant', tool_calls: [{ id, type: 'function', function: called }] },
          { role: 'tool', tool_call_id: id, content: 'Sun' },
        ],
      })
      expect(asked()[1]).not.toHaveProperty('functions')
    },
  )

  it('cannot express a request with a field that it does not know, so that another provider may be asked', async () => {
    opened.upstream.scriptOnce(refusing("property 'verbosity' is unsupported"))
    const { error } = await runCall(opened.adapter, ask({ verbosity: 'low' }))
    expect(error).toMatchObject({ reason: 'unsupported-request', param: 'verbosity' })
  })

  it('may be sent a field whose name is no pattern, which the host has allowed', async () => {
    opened.upstream.script(refuse([400, { error: { message: "Unknown parameter: 'a(b'.", type: 'x' } }]))
    const { error } = await runCall(opened.adapter, { request: { ...short, 'a(b': 1 } })
    expect(error).toMatchObject({ reason: 'status', status: 400 })
  })

  it('refuses a value of a field that it knows, and the host sees its status', async () => {
    opened.upstream.scriptOnce(
      refusing("Unsupported value: 'temperature' does not support 0.5.", 'temperature'),
    )
    const { error } = await runCall(opened.adapter, ask({ temperature: 0.5 }))
    expect(error).toMatchObject({ reason: 'status', status: 400 })
  })
})

describe('a provider that rejects the reasoning of earlier replies', () => {
  it.each(REASONING_REFUSALS)('is asked again without it, for that call alone: %s %j', async (...refusal) => {
    opened.upstream.scriptOnce(refuse(refusal))
    await succeed({ request: reasons })
    await succeed({ request: reasons })
    const sent = { ...reasons, ...ASKS }
    expect(asked()).toEqual([sent, { ...withoutReasons, ...ASKS }, sent])
  })

  it('is asked again if no stream is requested', async () => {
    opened.upstream.scriptOnce(refuse(REASONING))
    const { error } = await runCall(opened.adapter, { request: reasons, stream: false })
    expect(error).toBeUndefined()
    expect(asked()).toEqual([reasons, withoutReasons])
  })

  it('is asked at most twice', async () => {
    opened.upstream.scriptOnce(refuse(REASONING), refuse(REASONING))
    expect((await runCall(opened.adapter, { request: reasons })).error).toMatchObject({ status: 422 })
    expect(asked()).toHaveLength(2)
  })

  it('is sent none at all with reasoningHistory: false', async () => {
    const adapter = openaiCompatible({ baseUrl: opened.upstream.baseUrl, reasoningHistory: false })
    await runCall(adapter, { request: reasons })
    await adapter.close?.()
    expect(asked()).toEqual([{ ...withoutReasons, ...ASKS }])
  })
})

describe('a provider that rejects stream_options', () => {
  it.each(USAGE_REFUSALS)(
    'rejects the call, and the host gets a hint about the setting: %s %j',
    async (...refusal) => {
      opened.upstream.scriptOnce(refuse(refusal))
      const { error } = await runCall(opened.adapter)
      expect(error).toMatchObject({ reason: 'status', status: refusal[0] })
      expect(error?.message).toMatch(
        /^The provider answered 4\d\d\. It names stream_options\. .* streamUsage: false\.$/,
      )
      await succeed()
      expect(asked()).toEqual([
        { ...short, ...ASKS },
        { ...short, ...ASKS },
      ])
    },
  )

  it('is not asked for the usage of a stream with streamUsage: false, but usage is read if it comes', async () => {
    const adapter = openaiCompatible({ baseUrl: opened.upstream.baseUrl, streamUsage: false })
    const request = { ...short, stream_options: { include_usage: true } }
    const { events } = await runCall(adapter, { request })
    opened.upstream.scriptOnce(refuse(USAGE))
    const { error } = await runCall(adapter)
    await adapter.close?.()
    expect(asked()).toEqual([
      { ...short, stream: true },
      { ...short, stream: true },
    ])
    expect(events).toContainEqual({ type: 'usage', usage: expect.objectContaining({ completion: 7 }) })
    expect(error?.message).toBe('The provider answered 422.')
  })
})

it.each([
  ['another refusal', reasons, answerJson({ error: { message: 'Bad top_k.', param: 'top_k' } }, 400)],
  ['another status', reasons, answerJson(REASONING[1], 500)],
  ['a refusal of reasoning that was not sent', short, refuse(REASONING)],
  [
    'a reply that failed after it had begun',
    reasons,
    answerEvents([textChunk('Hel'), { error: { code: 400, message: 'messages.1.reasoning' } }]),
  ],
])("a provider's refusal with %s is final", async (_what, request, script) => {
  opened.upstream.scriptOnce(script)
  expect((await runCall(opened.adapter, { request })).error).toBeDefined()
  expect(asked()).toHaveLength(1)
})

it("a provider's long message is searched quickly", () => {
  const said = {
    status: 400,
    providerMessage: 'messages.'.repeat(1_000_000),
    param: 'messages['.repeat(1_000_000),
  }
  const failure = new ProviderError('status', 'The provider answered 400.', said)
  const call = createCall({ request: reasons })
  const search = () => expect(formAfter(failure, FULL_FORM.history, call)).toBeUndefined()
  expect(cpuMsOf(search, 500)).toBeLessThan(500)
})

it.each(['streamUsage', 'reasoningHistory'])('the setting %s must be true or false', (name) => {
  expect(() => openaiCompatible({ baseUrl: 'http://127.0.0.1:9/v1', [name]: 'no' })).toThrow(
    new RegExp(`^openaiCompatible: ${name} must be true(?: or|,) false.*; got "no"$`),
  )
})

describe('an order of messages that a provider refuses', () => {
  const user = (content: string) => ({ role: 'user', content })
  const system = (content: unknown) => ({ role: 'system', content })
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  const calls = { role: 'assistant', content: null, tool_calls: [call] }
  const result = { role: 'tool', tool_call_id: 'a', content: 'r' }
  const refusal = (message: string): Refusal => [400, { error: { message } }]
  const sentAgain = async (message: string, messages: ChatRequest['messages']) => {
    opened.upstream.scriptOnce(refuse(refusal(message)))
    await succeed({ request: { ...short, messages } })
    return asked().map((body) => (body as ChatRequest).messages)
  }

  it('is sent again with all system messages as one, at the beginning', async () => {
    const messages = [system('s'), user('u'), system([{ type: 'text', text: 't' }]), user('v')]
    expect(await sentAgain('System message must be at the beginning.', messages)).toEqual([
      messages,
      [
        system([
          { type: 'text', text: 's' },
          { type: 'text', text: 't' },
        ]),
        user('u'),
        user('v'),
      ],
    ])
  })

  it('is sent again with a reply after each result', async () => {
    const messages = [user('u'), calls, result, user('v')]
    expect(await sentAgain("Unexpected role 'user' after role 'tool'", messages)).toEqual([
      messages,
      [user('u'), calls, result, { role: 'assistant', content: 'OK' }, user('v')],
    ])
  })

  it('is final if the messages have it already', async () => {
    opened.upstream.script(refuse(refusal('System message must be at the beginning.')))
    const { error } = await runCall(opened.adapter, {
      request: { ...short, messages: [system('s'), user('u')] },
    })
    expect(error).toMatchObject({ status: 400 })
    expect(asked()).toHaveLength(1)
  })
})

describe('a field that a provider does not know', () => {
  const { fields } = FULL_FORM
  const refused = (providerMessage: string, param?: string) =>
    new ProviderError('status', 'Refused.', { status: 400, providerMessage, param })
  const formFor = (failure: ProviderError, more: object, form = fields) =>
    fieldsAfter(failure, form, { request: { model: 'm', messages: [], ...more } })

  it.each([
    ["property 'prompt_cache_key' is unsupported", undefined, 'prompt_cache_key', 'k'],
    ['Unknown name "safety_identifier": Cannot find field.', undefined, 'safety_identifier', 'u'],
    ['Extra inputs are not permitted', 'user', 'user', 'u'],
    ['Unknown name "frequency_penalty": Cannot find field.', undefined, 'frequency_penalty', 0],
  ])('is left out after %s', (words, param, field, value) => {
    expect(formFor(refused(words, param), { [field]: value })).toEqual({ ...fields, omitted: [field] })
  })

  it('is not left out if its value has an effect, if another one is named, or twice', () => {
    const words = (field: string) => refused(`property '${field}' is unsupported`)
    expect(formFor(words('frequency_penalty'), { frequency_penalty: 1 })).toBeUndefined()
    expect(formFor(words('verbosity'), { verbosity: 'low' })).toBeUndefined()
    expect(formFor(words('user_name'), { user: 'u' })).toBeUndefined()
    expect(formFor(words('user'), { user: 'u' }, { ...fields, omitted: ['user'] })).toBeUndefined()
    expect(formFor(refused('The user is too long.'), { user: 'u' })).toBeUndefined()
  })

  it('is sent under the name that Mistral knows if it is the seed', () => {
    const form = formFor(refused('Extra inputs are not permitted', 'seed'), { seed: 7 })!
    expect(form).toEqual({ ...fields, randomSeed: true })
    const body = buildRequestBody({ model: 'm', messages: [], seed: 7 }, false, {
      ...FULL_FORM,
      fields: form,
    })
    expect(JSON.parse(String(body))).toEqual({ model: 'm', messages: [], random_seed: 7 })
  })
})
