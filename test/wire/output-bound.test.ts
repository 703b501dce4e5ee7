import { afterEach, expect, test } from 'vitest'
import { openaiCompatible } from '../../src/index.js'
import { answerJson, type Script } from '../helpers/scripted-upstream.js'
import { MODEL, PRICES, providerReply, type ServiceOptions, WireService } from './service.js'

const REFUSAL = "Unsupported parameter: 'max_tokens' is not supported with this model."

/** Like OpenAI's reasoning models. */
const refusingMaxTokens: Script = async (reply, request) => {
  const refused = 'max_tokens' in (request.body as object)
  reply.head(refused ? 400 : 200, { 'content-type': 'application/json' })
  await reply.write(JSON.stringify(refused ? { error: { message: REFUSAL } } : providerReply()))
  reply.end()
}

let service: WireService
afterEach(() => service.close())

async function ask(options: ServiceOptions): Promise<unknown[]> {
  service = await WireService.start({ router: () => ({ neverOverdraw: true }), ...options })
  service.upstream.script(refusingMaxTokens)
  const { status } = await service.post({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }] })
  const { max_tokens: older, max_completion_tokens: newer } = service.asked[0]!.body as Record<
    string,
    unknown
  >
  return [status, older, newer]
}

test('a model that refuses max_tokens gets the field that its adapter names', async () => {
  const adapter = (baseUrl: string) => openaiCompatible({ baseUrl, outputBound: 'max_completion_tokens' })
  expect(await ask({ adapter })).toEqual([200, undefined, 4_096])
})

test('a model that refuses max_tokens gets the field in its list of parameters', async () => {
  const models = [{ id: MODEL, prices: PRICES, supportedParameters: ['max_completion_tokens'] }]
  expect(await ask({ models })).toEqual([200, undefined, 4_096])
})

test('without such a setting, the output limit is sent as max_tokens, and the provider refuses it', async () => {
  expect(await ask({})).toEqual([400, 4_096, undefined])
})

test('an output limit below the least one of the Responses API is raised to it, which the hold covers', async () => {
  service = await WireService.start({
    adapter: (baseUrl) => openaiCompatible({ baseUrl, api: 'responses' }),
    router: () => ({ neverOverdraw: true }),
  })
  const usage = { input_tokens: 1, output_tokens: 16, total_tokens: 17 }
  const output = [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }]
  service.upstream.script(answerJson({ object: 'response', status: 'incomplete', output, usage }))
  const messages = [{ role: 'user', content: 'Hi' }]
  const sent: unknown[] = []
  for (const max_tokens of [1, 16, 17]) {
    const reply = await service.post({ model: MODEL, messages, max_tokens })
    expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining('Hi')])
    sent.push((service.asked.at(-1)!.body as { max_output_tokens: unknown }).max_output_tokens)
  }
  expect(sent).toEqual([16, 16, 17])
  const limits = service.events.flatMap((event) => (event.type === 'request-end' ? [event.outputLimit] : []))
  expect(limits).toEqual([16, undefined, undefined])
})

test.each([
  ['50000', 'max_tokens: 20'],
  ['66000', undefined],
] as const)(
  'a caller with 1 credit is told no limit below the least one, at %s a million',
  async (output, hint) => {
    service = await WireService.start({
      adapter: (baseUrl) => openaiCompatible({ baseUrl, api: 'responses' }),
      models: [{ id: MODEL, prices: { input: '0', output } }],
    })
    const reply = await service.post({
      model: MODEL,
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 99,
    })
    const text = await reply.text()
    expect(reply.status).toBe(402)
    expect(/max_tokens: \d+/.exec(text)?.[0]).toBe(hint)
  },
)
