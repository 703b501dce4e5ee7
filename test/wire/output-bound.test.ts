import { afterEach, expect, test } from 'vitest'
import { openaiCompatible } from '../../src/index.js'
import type { Script } from '../helpers/scripted-upstream.js'
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
