import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { ProviderAdapter } from '../../src/adapters.js'
import { anthropic, openaiCompatible } from '../../src/index.js'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import type { Dialect } from '../helpers/agent-upstream.js'
import { UPSTREAM_KEY } from '../wire/service.js'

/** Each adapter, with the API of its provider. */
export const PROVIDERS: readonly [string, Dialect, (baseUrl: string) => ProviderAdapter][] = [
  ['openaiCompatible()', 'chat', (baseUrl) => openaiCompatible({ baseUrl, apiKey: UPSTREAM_KEY })],
  [
    "openaiCompatible({ api: 'responses' })",
    'responses',
    (baseUrl) => openaiCompatible({ baseUrl, apiKey: UPSTREAM_KEY, api: 'responses' }),
  ],
  ['anthropic()', 'messages', (baseUrl) => anthropic({ baseUrl, apiKey: UPSTREAM_KEY })],
  [
    'aiSdk()',
    'chat',
    (baseUrl) =>
      aiSdk({
        model: (id) =>
          createOpenAICompatible({
            name: 'scripted',
            baseURL: baseUrl,
            apiKey: UPSTREAM_KEY,
            includeUsage: true,
            supportsStructuredOutputs: true,
          })(id),
      }),
  ],
]
