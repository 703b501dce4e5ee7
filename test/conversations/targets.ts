import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { ProviderAdapter } from '../../src/adapters.js'
import { anthropic, openaiCompatible } from '../../src/index.js'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import type { Target, Wire } from './shape.js'
import type { StrictRow } from './strict/index.js'
import type { Transport } from './ways.js'

export interface Kind {
  /** The API of the provider. */
  readonly wire: Wire
  /** The provider whose rules the stand-in has. */
  readonly row: StrictRow
  /** The beginning of the provider's name of each model. Packages of the AI SDK know some. */
  readonly model: string
  /** The provider that answers a next turn elsewhere. */
  readonly elsewhere: Target
  adapter(baseUrl: string, transport?: Transport): ProviderAdapter
}

const apiKey = 'sk-conversations-5f1c9d27'
const RESPONSES_MODEL = 'gpt-5.1'
const CLAUDE = 'claude-sonnet-4-5'

const overTransport = (transport?: Transport) =>
  transport === undefined ? {} : { dispatcher: transport.dispatcher }
const byFetch = (transport?: Transport) => (transport === undefined ? {} : { fetch: transport.fetch })

/** Each provider, with the adapter before it. */
export const KINDS: Readonly<Record<Target, Kind>> = {
  chat: {
    wire: 'chat',
    row: 'openai',
    model: 'gpt-5.1',
    elsewhere: 'messages',
    // What these settings are by default for OpenAI's own address.
    adapter: (baseUrl, transport) =>
      openaiCompatible({
        ...overTransport(transport),
        baseUrl,
        apiKey,
        developerRole: true,
        outputBound: 'max_completion_tokens',
      }),
  },
  responses: {
    wire: 'responses',
    row: 'openai',
    model: RESPONSES_MODEL,
    elsewhere: 'messages',
    adapter: (baseUrl, transport) =>
      openaiCompatible({ ...overTransport(transport), baseUrl, apiKey, api: 'responses' }),
  },
  messages: {
    wire: 'messages',
    row: 'anthropic',
    model: CLAUDE,
    elsewhere: 'chat',
    adapter: (baseUrl, transport) => anthropic({ ...overTransport(transport), baseUrl, apiKey }),
  },
  'sdk-chat': {
    wire: 'chat',
    row: 'openai',
    model: 'gpt-4o',
    elsewhere: 'sdk-messages',
    adapter: (baseURL, transport) =>
      aiSdk({
        model: (id) =>
          createOpenAICompatible({
            ...byFetch(transport),
            name: 'openai',
            baseURL,
            apiKey,
            includeUsage: true,
            supportsStructuredOutputs: true,
          })(id),
      }),
  },
  'sdk-responses': {
    wire: 'responses',
    row: 'openai',
    model: RESPONSES_MODEL,
    elsewhere: 'sdk-messages',
    adapter: (baseURL, transport) =>
      aiSdk({ model: (id) => createOpenAI({ ...byFetch(transport), baseURL, apiKey })(id) }),
  },
  'sdk-messages': {
    wire: 'messages',
    row: 'anthropic',
    model: CLAUDE,
    elsewhere: 'sdk-responses',
    adapter: (baseURL, transport) =>
      aiSdk({ model: (id) => createAnthropic({ ...byFetch(transport), baseURL, apiKey })(id) }),
  },
  deepseek: {
    wire: 'chat',
    row: 'deepseek',
    model: 'deepseek-chat',
    elsewhere: 'groq',
    adapter: (baseUrl, transport) => openaiCompatible({ ...overTransport(transport), baseUrl, apiKey }),
  },
  groq: {
    wire: 'chat',
    row: 'groq',
    model: 'llama-4',
    elsewhere: 'mistral',
    adapter: (baseUrl, transport) => openaiCompatible({ ...overTransport(transport), baseUrl, apiKey }),
  },
  mistral: {
    wire: 'chat',
    row: 'mistral',
    model: 'mistral-large',
    elsewhere: 'deepseek',
    adapter: (baseUrl, transport) =>
      openaiCompatible({
        ...overTransport(transport),
        baseUrl,
        apiKey,
        streamUsage: false,
        outputBound: 'max_tokens',
      }),
  },
  'gemini-chat': {
    wire: 'chat',
    row: 'gemini-chat',
    model: 'gemini-2.5-pro',
    elsewhere: 'chat',
    adapter: (baseUrl, transport) =>
      openaiCompatible({ ...overTransport(transport), baseUrl, apiKey, unlistedTokens: 'output' }),
  },
  'sdk-gemini': {
    wire: 'gemini',
    row: 'gemini',
    model: 'gemini-3-pro-preview',
    elsewhere: 'messages',
    adapter: (baseURL, transport) =>
      aiSdk({
        model: (id) => createGoogleGenerativeAI({ ...byFetch(transport), baseURL, apiKey })(id),
      }),
  },
}
