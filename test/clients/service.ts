import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { ProviderAdapter } from '../../src/adapters.js'
import type * as Root from '../../src/index.js'
import type * as AiSdk from '../../src/providers/ai-sdk/index.js'
import type { ScriptedAnswer } from '../../src/testing/adapter/index.js'
import { anthropicLanguage, openAiLanguage } from '../conformance/adapter-languages.js'
import type { Language } from '../conformance/adapter-upstream.js'
import { type EventOf, RouterHarness } from '../helpers/router-harness.js'
import { startScriptedUpstream } from '../helpers/scripted-upstream.js'

// These tests use the built package, as published.
const root = (await import('../../dist/index.js' as string)) as typeof Root
const { aiSdk } = (await import('../../dist/ai-sdk.js' as string)) as typeof AiSdk

export const MODEL = 'vendor/model-x'
export const KEY = 'sk-client-test'
export const POOR_KEY = 'sk-poor-test'
/** A user message that gets an endless reply. */
export const ENDLESS = 'endless please'
export const USAGE = { prompt: 11, cached: 4, cacheWrite: 0, completion: 7, reasoning: 0 }
/** (7 x 2 + 4 x 1 + 7 x 8) / 1,000,000 credits. */
export const COST = 0.000074
export const TEXT = 'Hello, wörld!'
export const TOOL = { name: 'get_weather', arguments: '{"city":"Berlin"}' }
export const OBJECT = '{"city":"Berlin"}'

type Settings = { baseUrl: string; apiKey: string }

/** Each kind of provider: the upstream server, and the adapter for its API. */
export const providers: Readonly<
  Record<string, { language: Language; adapter: (settings: Settings) => ProviderAdapter }>
> = {
  'openaiCompatible()': { language: openAiLanguage, adapter: (settings) => root.openaiCompatible(settings) },
  'anthropic()': { language: anthropicLanguage, adapter: (settings) => root.anthropic(settings) },
  'the AI SDK bridge': {
    language: openAiLanguage,
    adapter: ({ baseUrl, apiKey }) =>
      aiSdk({
        model: (upstreamModel) =>
          createOpenAICompatible({
            name: 'scripted',
            baseURL: baseUrl,
            apiKey,
            includeUsage: true,
            supportsStructuredOutputs: true,
          })(upstreamModel),
      }),
  },
}

export interface Service {
  /** Including `/v1`. */
  readonly baseURL: string
  readonly events: Root.RouterEvent[]
  /** Resolves at the next request-end event that was not awaited before. */
  nextEnd(): Promise<EventOf<'request-end'>>
  balance(): Promise<string>
  close(): Promise<void>
}

/** The router as a host would run it, in front of a provider with its own API on a real socket. */
export async function startService(provider: string): Promise<Service> {
  const { adapter: connect, language } = providers[provider]!
  const upstream = await startScriptedUpstream()
  upstream.script(async (reply, request) => {
    const body = request.body as Record<string, unknown>
    const stream = body.stream === true
    reply.head(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
    const text = request.text
    const answer = answerTo(body)
    if (stream) await reply.write(language.open(answer))
    if (text.includes(ENDLESS)) {
      if (stream) await reply.write(language.text('on and on'))
      await request.closed
      return
    }
    if (stream) for (const piece of answer.text) await reply.write(language.text(piece))
    await reply.write(stream ? language.close(answer) : JSON.stringify(language.body(answer)))
    reply.end()
  })
  const harness = new RouterHarness()
  let awaited = 0
  const ledger = root.memoryLedger({ alice: '5', pauper: '0' })
  const adapter = connect({ baseUrl: upstream.baseUrl, apiKey: 'sk-upstream' })
  const router = root.createCompatRouter({
    basePath: '/v1',
    credentials: root.memoryCredentials({
      [KEY]: { kind: 'api-key', account: 'alice' },
      [POOR_KEY]: { kind: 'api-key', account: 'pauper' },
    }),
    catalogue: root.memoryCatalogue([
      { id: MODEL, name: 'Model X', prices: { input: '2', cachedInput: '1', output: '8' } },
    ]),
    ledger,
    providers: root.memoryProviders([
      { id: 'scripted', models: { [MODEL]: 'upstream-model' }, adapter, onDisconnect: 'abort' },
    ]),
    onEvent: harness.take,
  })
  const host = await harness.serve(router)
  return {
    baseURL: `${host.baseUrl}/v1`,
    events: harness.events,
    async nextEnd() {
      const ends = () => harness.of('request-end')
      const next = Math.max(awaited, ends().length)
      awaited = next + 1
      await harness.until(() => ends().length > next)
      return ends()[next]!
    },
    async balance() {
      const balance = await ledger.balance('alice', {
        requestId: 'test',
        signal: new AbortController().signal,
      })
      return root.formatCredits(balance!.available)
    },
    async close() {
      await router.close({ graceMs: 0 })
      await adapter.close?.()
      await upstream.close()
      await harness.close()
    },
  }
}

function answerTo(body: Record<string, unknown>): ScriptedAnswer {
  const answered = JSON.stringify(body.messages).includes('sunny')
  const text = JSON.stringify(body)
  const wantsJson =
    'response_format' in body ||
    'output_config' in body ||
    'output_format' in body ||
    text.includes('"structured_output"')
  if (body.tools !== undefined && !answered && !wantsJson) {
    return { text: [], toolCalls: [{ id: 'call_1', ...TOOL }], finish: 'tool_calls', usage: USAGE }
  }
  return {
    text: wantsJson ? ['{"city":', '"Berlin"}'] : ['Hello', ', wör', 'ld!'],
    toolCalls: [],
    finish: 'stop',
    usage: USAGE,
  }
}
