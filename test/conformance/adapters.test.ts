import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, it } from 'vitest'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import { anthropic } from '../../src/providers/anthropic/index.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'
import {
  ADAPTER_HOST_CREDENTIAL,
  ADAPTER_HOST_KEY,
  type AdapterHarness,
  type AdapterUnderTest,
  adapterCases,
} from '../../src/testing/adapter/index.js'
import { anthropicLanguage, openAiLanguage, responsesLanguage } from './adapter-languages.js'
import { openAdapter } from './adapter-upstream.js'

const HOST_HEADERS = { 'x-proxy-token': ADAPTER_HOST_CREDENTIAL }

/** Has no own properties: all its members come from its class. */
class Opened implements AdapterUnderTest {
  readonly #inner: AdapterUnderTest

  constructor(inner: AdapterUnderTest) {
    this.#inner = inner
  }

  get adapter() {
    return this.#inner.adapter
  }

  get upstreamModel() {
    return this.#inner.upstreamModel
  }

  get requests() {
    return this.#inner.requests
  }

  get firstRequest() {
    return this.#inner.firstRequest
  }

  sentBytes() {
    return this.#inner.sentBytes()
  }

  close() {
    return this.#inner.close()
  }
}

const harnesses: Readonly<Record<string, AdapterHarness>> = {
  openaiCompatible: {
    open: (scenario) =>
      openAdapter(scenario, openAiLanguage, (baseUrl) =>
        openaiCompatible({ baseUrl, apiKey: ADAPTER_HOST_KEY, headers: HOST_HEADERS }),
      ),
  },
  'openaiCompatible, over the Responses API': {
    open: (scenario) =>
      openAdapter(scenario, responsesLanguage, (baseUrl) =>
        openaiCompatible({ baseUrl, apiKey: ADAPTER_HOST_KEY, headers: HOST_HEADERS, api: 'responses' }),
      ),
  },
  'anthropic, opened as a class instance': {
    async open(scenario) {
      const connect = (baseUrl: string) =>
        anthropic({ baseUrl, apiKey: ADAPTER_HOST_KEY, headers: HOST_HEADERS })
      return new Opened(await openAdapter(scenario, anthropicLanguage, connect))
    },
  },
  'aiSdk with @ai-sdk/openai-compatible': {
    open: (scenario) =>
      openAdapter(scenario, openAiLanguage, (baseURL) =>
        aiSdk({
          takesKeys: true,
          model: (upstreamModel, apiKey) =>
            createOpenAICompatible({
              name: 'scripted',
              baseURL,
              apiKey: apiKey ?? ADAPTER_HOST_KEY,
              headers: apiKey === undefined ? HOST_HEADERS : {},
              includeUsage: true,
            })(upstreamModel),
        }),
      ),
  },
}

it('the adapter cases have unique ids', () => {
  const ids = adapterCases.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

for (const [name, harness] of Object.entries(harnesses)) {
  describe(name, () => {
    it("takes callers' keys, so that no case about them is skipped", async () => {
      const opened = await harness.open({ kind: 'nonsense' })
      expect(opened.adapter.takesKeys).toBe(true)
      await opened.adapter.close?.()
      await opened.close()
    })

    for (const adapterCase of adapterCases) {
      it(`${adapterCase.name} [${adapterCase.id}]`, () => adapterCase.run(harness))
    }
  })
}
