import { afterEach, describe, expect, it } from 'vitest'
import { answerJson, type ScriptedUpstream, startScriptedUpstream } from '../helpers/scripted-upstream.js'
import { PROVIDERS } from '../operations/providers.js'
import { ALICE, COUNTS, MODEL, type Service, startService, UPSTREAM_MODEL } from './service.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

interface Setting {
  readonly service: Service
  /** The provider of the first route, which refuses a field. */
  readonly strict: ScriptedUpstream
}

/** Starts a router with a strict provider, and optionally one of chats behind it that takes every field. */
async function start(adapter: string, hasOther: boolean): Promise<Setting> {
  const strict = await startScriptedUpstream()
  const make = PROVIDERS.find(([name]) => name === adapter)![2]
  const models = { [MODEL]: adapter === 'anthropic()' ? 'claude-opus-4-6' : UPSTREAM_MODEL }
  const first = { adapter: make(strict.baseUrl), models }
  const service = await startService({ routes: hasOther ? [first, {}] : [first] })
  closing.push(
    () => service.close(),
    () => strict.close(),
  )
  return { service, strict }
}

async function post({ service }: Setting, path: string, body: object) {
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ALICE}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, ...body }),
  })
  const text = await response.text()
  return { status: response.status, text, error: JSON.parse(text).error }
}

const refusal = (message: string, param?: string) =>
  answerJson({ type: 'error', error: { type: 'invalid_request_error', message, param } }, 400)
const CHAT = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50 }
const RESPONSES = { input: 'Hello', max_output_tokens: 50 }
const IN_RESPONSES = "openaiCompatible({ api: 'responses' })"

/** A client's request, and how a provider says that it does not know one of its fields, which the client calls `param`. */
const ROWS: readonly (readonly [
  adapter: string,
  path: string,
  body: object,
  refused: ReturnType<typeof refusal>,
  param: string,
])[] = [
  [
    'openaiCompatible()',
    '/chat/completions',
    { ...CHAT, verbosity: 'low' },
    refusal("property 'verbosity' is unsupported"),
    'verbosity',
  ],
  [
    IN_RESPONSES,
    '/chat/completions',
    { ...CHAT, verbosity: 'low' },
    refusal("Unsupported parameter: 'text.verbosity' is not supported with this model.", 'text.verbosity'),
    'verbosity',
  ],
  [
    IN_RESPONSES,
    '/responses',
    { ...RESPONSES, top_p: 0.5 },
    refusal("Unknown parameter: 'top_p'.", 'top_p'),
    'top_p',
  ],
  [
    IN_RESPONSES,
    '/responses',
    { ...RESPONSES, reasoning: { effort: 'low' } },
    refusal("Unsupported parameter: 'reasoning.effort' is not supported.", 'reasoning.effort'),
    'reasoning.effort',
  ],
  [
    'anthropic()',
    '/chat/completions',
    { ...CHAT, reasoning_effort: 'low' },
    refusal('output_config.effort: Extra inputs are not permitted'),
    'reasoning_effort',
  ],
  [
    'anthropic()',
    '/messages',
    { ...CHAT, top_k: 5 },
    refusal('top_k: Extra inputs are not permitted'),
    'top_k',
  ],
  [
    'aiSdk()',
    '/chat/completions',
    { ...CHAT, frequency_penalty: 0.5 },
    refusal("property 'frequency_penalty' is unsupported"),
    'frequency_penalty',
  ],
]

describe('a field that a provider does not know', () => {
  it.each(ROWS)(
    'makes a call at %s for %s move on to the next route',
    async (adapter, path, body, refused) => {
      const setting = await start(adapter, true)
      setting.strict.script(refused)
      const { status, text } = await post(setting, path, body)
      expect({ status, text }).toMatchObject({ status: 200, text: expect.stringContaining('I am p1') })
      expect(setting.strict.requests).toHaveLength(1)
    },
  )

  it.each(ROWS)(
    'is refused by the name that the client gave it, if %s is the only route for %s',
    async (adapter, path, body, refused, param) => {
      const setting = await start(adapter, false)
      setting.strict.script(refused)
      const { error, status } = await post(setting, path, body)
      expect({ status, error }).toMatchObject({
        status: 400,
        error: { code: 'unsupported_parameter', param },
      })
    },
  )

  it('makes embeddings move on to the next route', async () => {
    const setting = await start('openaiCompatible()', true)
    setting.strict.script(refusal("Unknown parameter: 'dimensions'.", 'dimensions'))
    const data = [{ index: 0, embedding: [0.5] }]
    setting.service.upstreams[1]!.script(answerJson({ data, usage: COUNTS }))
    const { status } = await post(setting, '/embeddings', { input: 'Hello', dimensions: 8 })
    expect(status).toBe(200)
  })

  it.each([
    ['openaiCompatible()', "property 'reasoning_effort' is unsupported"],
    [IN_RESPONSES, "Unsupported parameter: 'reasoning.effort' is not supported with this model."],
    ['anthropic()', 'output_config.effort: Extra inputs are not permitted'],
  ])('is left out at %s if it is only a hint of a client of another API', async (adapter, words) => {
    const setting = await start(adapter, false)
    setting.strict.script(refusal(words))
    const [path, body] =
      adapter === IN_RESPONSES
        ? ['/messages', { ...CHAT, output_config: { effort: 'low' } }]
        : ['/responses', { ...RESPONSES, reasoning: { effort: 'low' } }]
    const { error } = await post(setting, path, body)
    expect(error).not.toMatchObject({ code: 'unsupported_parameter' })
    const [first, second] = setting.strict.requests
    expect(first!.text).toContain('"low"')
    expect(second!.text).not.toContain('"low"')
  })

  it.each([
    ['openaiCompatible()', '/chat/completions', CHAT],
    [IN_RESPONSES, '/chat/completions', CHAT],
    [IN_RESPONSES, '/responses', RESPONSES],
  ])('is left out at %s for %s if it only labels the request', async (adapter, path, body) => {
    const setting = await start(adapter, false)
    setting.strict.script(refusal("Unknown parameter: 'prompt_cache_key'.", 'prompt_cache_key'))
    await post(setting, path, { ...body, prompt_cache_key: 'k' })
    const [first, second] = setting.strict.requests
    expect(first!.body).toHaveProperty('prompt_cache_key', 'k')
    expect(second!.body).not.toHaveProperty('prompt_cache_key')
    expect(setting.strict.requests).toHaveLength(2)
  })

  it('is none if a provider names a member of a list that has the name of a field', async () => {
    const setting = await start(IN_RESPONSES, true)
    setting.strict.script(refusal("Unknown parameter: 'input[0].metadata'.", 'input[0].metadata'))
    const body = { ...RESPONSES, metadata: { a: 'b' } }
    const { error, status } = await post(setting, '/responses', body)
    expect({ status, error }).toMatchObject({ status: 400, error: { code: 'provider_rejected_request' } })
  })

  it('is none if a provider names what only another API has, since it may quote its caller', async () => {
    const setting = await start('openaiCompatible()', true)
    setting.strict.script(refusal("'reasoning' is unsupported"))
    const { error, status } = await post(setting, '/chat/completions', { ...CHAT, reasoning_effort: 'none' })
    expect({ status, error }).toMatchObject({ status: 400, error: { code: 'provider_rejected_request' } })
  })
})
