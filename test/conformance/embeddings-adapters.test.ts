import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, it } from 'vitest'
import { ProviderError } from '../../src/base/errors.js'
import type { EmbeddingsAdapter } from '../../src/contracts/index.js'
import { aiSdk } from '../../src/providers/ai-sdk/index.js'
import { openaiCompatible } from '../../src/providers/openai-compatible/index.js'
import {
  ADAPTER_HOST_KEY,
  type EmbeddingsHarness,
  type EmbeddingsScenario,
  type EmbeddingsUnderTest,
  embeddingsCases,
  type ReceivedRequest,
} from '../../src/testing/adapter/index.js'
import {
  type ScriptedReply,
  type ScriptedRequest,
  startScriptedUpstream,
} from '../helpers/scripted-upstream.js'

/** Starts a provider with OpenAI's API on a real socket, and connects an adapter to it. */
async function openEmbeddings(
  scenario: EmbeddingsScenario,
  connect: (baseUrl: string) => EmbeddingsAdapter,
): Promise<EmbeddingsUnderTest> {
  const upstream = await startScriptedUpstream()
  const requests: ReceivedRequest[] = []
  let received = (_request: ReceivedRequest) => {}
  const firstRequest = new Promise<ReceivedRequest>((resolve) => {
    received = resolve
  })
  upstream.script(async (reply, request) => {
    const seen = { text: request.text, closed: request.closed }
    requests.push(seen)
    received(seen)
    await play(scenario, reply, request)
  })
  if (scenario.kind === 'unreachable') await upstream.close()
  return {
    adapter: connect(upstream.baseUrl),
    upstreamModel: 'upstream-model',
    requests,
    firstRequest,
    close: () => (scenario.kind === 'unreachable' ? undefined : upstream.close()),
  }
}

async function play(
  scenario: EmbeddingsScenario,
  reply: ScriptedReply,
  request: ScriptedRequest,
): Promise<void> {
  if (scenario.kind === 'silence') return request.closed
  const json = { 'content-type': 'application/json' }
  if (scenario.kind === 'status') {
    reply.head(scenario.status, json)
    await reply.write(JSON.stringify({ error: { message: scenario.message } }))
    return reply.end()
  }
  reply.head(200, json)
  if (scenario.kind === 'embeddings') {
    const isBase64 = (request.body as { encoding_format?: string }).encoding_format === 'base64'
    const data = scenario.vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: isBase64 ? Buffer.from(new Float32Array(vector).buffer).toString('base64') : vector,
    }))
    const { promptTokens: tokens } = scenario
    const usage = tokens !== undefined && { usage: { prompt_tokens: tokens, total_tokens: tokens } }
    await reply.write(JSON.stringify({ object: 'list', model: 'upstream-model', data, ...usage }))
    return reply.end()
  }
  await reply.write(scenario.kind === 'nonsense' ? '{"this is": no JSON}' : '{"object":"list","data":[{"emb')
  return scenario.kind === 'nonsense' ? reply.end() : reply.hangUp()
}

const compatible = (baseUrl: string) => openaiCompatible({ baseUrl, apiKey: ADAPTER_HOST_KEY })

const harnesses: Readonly<Record<string, EmbeddingsHarness>> = {
  openaiCompatible: { open: (scenario) => openEmbeddings(scenario, compatible) },
  'aiSdk with @ai-sdk/openai-compatible': {
    open: (scenario) =>
      openEmbeddings(
        scenario,
        (baseURL) =>
          aiSdk({
            embeddingModel: (name) =>
              createOpenAICompatible({
                name: 'scripted',
                baseURL,
                apiKey: ADAPTER_HOST_KEY,
              }).textEmbeddingModel(name),
          }) as EmbeddingsAdapter,
      ),
  },
}

it('the embeddings adapter cases have unique ids and names', () => {
  expect(new Set(embeddingsCases.map(({ id }) => id)).size).toBe(embeddingsCases.length)
  expect(new Set(embeddingsCases.map(({ name }) => name)).size).toBe(embeddingsCases.length)
})

for (const [name, harness] of Object.entries(harnesses)) {
  describe(name, () => {
    for (const { id, name: what, run } of embeddingsCases) it(`${what} [${id}]`, () => run(harness))
  })
}

type Embed = EmbeddingsAdapter['embeddings']
type Events = Parameters<Parameters<Embed>[1]>[0]
const changing =
  (change: (events: Events) => Events) =>
  (embed: Embed): Embed =>
  (call, take) =>
    embed(call, (events) => take(change(events)))
const FAILED = new ProviderError('cut-short', 'It failed.')

describe.each<[what: string, ids: readonly string[], spoil: (embed: Embed) => Embed]>([
  [
    'sorts embeddings wrongly',
    ['embed-many'],
    changing((events) => JSON.parse(JSON.stringify(events).replaceAll('"index":0', '"index":1'))),
  ],
  [
    'loses usage',
    ['embed-one', 'embed-many'],
    changing((events) => events.filter(({ type }) => type !== 'usage')),
  ],
  [
    'makes a count up',
    ['embed-no-count'],
    changing((events) => [...events, { type: 'usage', usage: { prompt: 7 } }]),
  ],
  [
    'cuts base64 off',
    ['embed-base64'],
    changing((events) =>
      JSON.parse(JSON.stringify(events), (key, value) =>
        key === 'embedding' && typeof value === 'string' ? value.slice(0, 8) : value,
      ),
    ),
  ],
  [
    'does not report the end',
    ['embed-one'],
    (embed) => (call, take) => embed(call, take).then(() => ({ terminated: false })),
  ],
  [
    'takes a failure for a reply',
    [
      ...embeddingsCases.map(({ id }) => id).filter((id) => id.startsWith('embed-status')),
      'embed-cut-short',
      'embed-nonsense',
      'embed-unreachable',
    ],
    (embed) => (call, take) => embed(call, take).catch(() => ({ terminated: true })),
  ],
  [
    'retries by itself',
    ['embed-status-500'],
    (embed) => (call, take) => embed(call, take).catch(() => embed(call, take)),
  ],
  [
    'keeps the connection of an aborted call',
    ['embed-abort'],
    (embed) => (call, take) =>
      new Promise((resolve, reject) => {
        embed({ ...call, signal: new AbortController().signal }, take).then(resolve, reject)
        call.signal.addEventListener('abort', () => reject(FAILED))
      }),
  ],
])('an embeddings adapter that %s', (_what, ids, spoil) => {
  it.each(ids)('does not pass %s', async (id) => {
    const { run } = embeddingsCases.find((one) => one.id === id)!
    const open: EmbeddingsHarness['open'] = (scenario) =>
      openEmbeddings(scenario, (baseUrl) => {
        const adapter = compatible(baseUrl)
        return { ...adapter, embeddings: spoil(adapter.embeddings) }
      })
    await expect(run({ open })).rejects.toThrow()
  })
})
