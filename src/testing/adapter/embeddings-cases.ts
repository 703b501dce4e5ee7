import { strict as assert } from 'node:assert'
import { inspect } from 'node:util'
import { isProviderError, type ProviderError } from '../../base/errors.js'
import type { Awaitable, EmbeddingsAdapter, ProviderCall } from '../../contracts/index.js'
import type { EmbeddingRequest } from '../../protocol/embedding-request.js'
import type { UsageReport } from '../../protocol/usage.js'
import { type ConformanceCase, checkAnswer, isObject } from '../base/case.js'
import { promptly } from './bench.js'
import type { AdapterUnderTest } from './scenario.js'

export type EmbeddingsCase = Omit<ConformanceCase<EmbeddingsHarness>, 'needs'>

/** Opens your adapter for the cases, with a server that plays a scenario in the provider's own format. */
export interface EmbeddingsHarness {
  /** Opens an adapter that nothing else uses, connected to a server that answers every request as `scenario` says. */
  open(scenario: EmbeddingsScenario): Awaitable<EmbeddingsUnderTest>
}

export interface EmbeddingsUnderTest extends Omit<AdapterUnderTest, 'adapter' | 'sentBytes'> {
  readonly adapter: EmbeddingsAdapter
}

export type EmbeddingsScenario =
  /**
   * A reply with these embeddings in this order, as base64 if the request has `encoding_format: 'base64'` and the
   * provider knows it. If `promptTokens` is absent, the reply has no usage.
   */
  | {
      readonly kind: 'embeddings'
      readonly vectors: readonly (readonly number[])[]
      readonly promptTokens?: number
    }
  /** An HTTP error status, with `message` in the provider's error body. */
  | { readonly kind: 'status'; readonly status: number; readonly message: string }
  /** Half of a reply, then a broken connection. */
  | { readonly kind: 'cut-short' }
  /** Not even a status line. */
  | { readonly kind: 'silence' }
  /** Status 200 with a body that is not JSON. */
  | { readonly kind: 'nonsense' }
  /** Nothing listens on the port. */
  | { readonly kind: 'unreachable' }

interface Outcome {
  /** In the order of the input. */
  readonly vectors: readonly (readonly number[])[]
  readonly usage: UsageReport | undefined
  readonly terminated: boolean | undefined
  readonly error: ProviderError | undefined
}

interface Bench extends EmbeddingsUnderTest {
  run(request: Partial<EmbeddingRequest>, signal?: AbortSignal): Promise<Outcome>
}

const MEBIBYTE = 1_048_576
const PATIENCE_MS = 10_000
/** Exact as 32-bit floats, so that base64 gives the same numbers. */
const ONE = [0.5, -0.25, 1]
const TWO = [0.125, 0, -1]

const statuses = [400, 401, 403, 404, 413, 429, 500, 503]

/** The requirements for every adapter that serves embeddings, one per case. */
export const embeddingsCases: readonly EmbeddingsCase[] = Object.freeze([
  embeddingsCase(
    'embed-one',
    'one text returns its embedding and usage, and reports its end',
    { kind: 'embeddings', vectors: [ONE], promptTokens: 3 },
    async ({ run, requests }) => {
      const { error, terminated, usage, vectors } = await run({ input: 'words-of-input' })
      assert.equal(error, undefined)
      assert.deepEqual(vectors, [ONE])
      assert.equal(usage?.prompt, 3)
      assert.equal(terminated, true)
      assert.ok(requests[0]?.text.includes('words-of-input'), 'the request lacks the text')
    },
  ),
  embeddingsCase(
    'embed-many',
    'several texts return their embeddings in the order of the texts',
    { kind: 'embeddings', vectors: [ONE, TWO], promptTokens: 6 },
    async ({ run, requests }) => {
      const { error, usage, vectors } = await run({ input: ['first-text', 'second-text'] })
      assert.equal(error, undefined)
      assert.deepEqual(vectors, [ONE, TWO])
      assert.equal(usage?.prompt, 6)
      const sent = requests.map(({ text }) => text).join()
      assert.ok(sent.includes('first-text') && sent.includes('second-text'), 'the request lacks a text')
    },
  ),
  embeddingsCase(
    'embed-base64',
    'a request for base64 returns the same embeddings, as base64 or numbers, or is refused as unsupported',
    { kind: 'embeddings', vectors: [ONE], promptTokens: 3 },
    async ({ run }) => {
      const { error, vectors } = await run({ input: 'x', encoding_format: 'base64' })
      if (error !== undefined) assert.equal(error.reason, 'unsupported-request')
      else assert.deepEqual(vectors, [ONE])
    },
  ),
  embeddingsCase(
    'embed-no-count',
    'a reply without a count of tokens is complete, and reports no count',
    { kind: 'embeddings', vectors: [ONE] },
    async ({ run }) => {
      const { error, usage, vectors } = await run({ input: 'x' })
      assert.equal(error, undefined)
      assert.deepEqual(vectors, [ONE])
      assert.equal(usage?.prompt, undefined, 'a count that the provider did not report must not be made up')
    },
  ),
  ...statuses.map((status) =>
    embeddingsCase(
      `embed-status-${status}`,
      `embeddings: an HTTP status ${status} rejects with that status and the provider's message`,
      { kind: 'status', status, message: 'Words of the provider' },
      async ({ run, requests }) => {
        const { error, vectors } = await run({ input: 'x' })
        assert.equal(error?.reason, 'status')
        assert.equal(error.status, status)
        assert.equal(error.providerMessage, 'Words of the provider')
        assert.deepEqual(vectors, [])
        assert.equal(requests.length, 1, 'an adapter must leave retries to the router')
      },
    ),
  ),
  ...(['cut-short', 'nonsense'] as const).map((kind) =>
    embeddingsCase(
      `embed-${kind}`,
      `embeddings: a reply that is ${kind === 'nonsense' ? 'not JSON' : 'cut short'} rejects`,
      { kind },
      async ({ run }) => {
        const { error, vectors } = await run({ input: 'x' })
        assert.ok(error !== undefined && ['cut-short', 'invalid-response'].includes(error.reason))
        assert.deepEqual(vectors, [])
      },
    ),
  ),
  embeddingsCase(
    'embed-unreachable',
    'embeddings: an unreachable provider rejects as unreachable',
    { kind: 'unreachable' },
    async ({ run }) => {
      const { error } = await run({ input: 'x' })
      assert.equal(error?.reason, 'unreachable')
    },
  ),
  embeddingsCase(
    'embed-abort',
    'embeddings: an abort while the provider is silent rejects and ends the connection',
    { kind: 'silence' },
    async ({ firstRequest, run }) => {
      const controller = new AbortController()
      const running = run({ input: 'x' }, controller.signal)
      const request = await promptly('the request', firstRequest)
      controller.abort()
      const { error } = await promptly('the rejection', running)
      assert.notEqual(error, undefined)
      await promptly('the end of the connection', request.closed)
    },
  ),
])

function embeddingsCase(
  id: string,
  name: string,
  scenario: EmbeddingsScenario,
  check: (bench: Bench) => Promise<void>,
): EmbeddingsCase {
  return {
    id,
    name,
    async run(harness) {
      const opened = await harness.open(scenario)
      const isComplete = isObject(opened) && isObject(opened.adapter) && typeof opened.close === 'function'
      checkAnswer('open', opened, isComplete, '{ adapter, upstreamModel, requests, firstRequest, close }')
      const { adapter, firstRequest, requests, upstreamModel } = opened
      try {
        await check({
          adapter,
          firstRequest,
          requests,
          upstreamModel,
          close: () => opened.close(),
          run: (request, signal) => embed(opened, request, signal),
        })
      } finally {
        await Promise.all([opened.close(), adapter.close?.()])
      }
    },
  }
}

async function embed(
  { adapter, upstreamModel }: EmbeddingsUnderTest,
  request: Partial<EmbeddingRequest>,
  signal = new AbortController().signal,
): Promise<Outcome> {
  let vectors: readonly (readonly number[])[] = []
  let usage: UsageReport | undefined
  const call: ProviderCall<EmbeddingRequest> = {
    request: { model: upstreamModel, input: 'x', ...request },
    stream: false,
    auth: { kind: 'host' },
    timeouts: { connectMs: PATIENCE_MS },
    sizes: { eventBytes: MEBIBYTE, replyBytes: MEBIBYTE },
    signal,
    requestId: 'conformance',
  }
  const running = (async () =>
    adapter.embeddings(call, (events) => {
      for (const event of events) {
        if (event.type === 'usage') usage = { ...usage, ...event.usage }
        if (event.type === 'completion') vectors = vectorsOf(event.completion)
      }
    }))()
  const [ended] = await Promise.allSettled([running])
  if (ended.status === 'fulfilled') {
    return { vectors, usage, terminated: ended.value?.terminated, error: undefined }
  }
  const { reason } = ended
  assert.ok(isProviderError(reason), `a call must reject with a ProviderError; got ${inspect(reason)}`)
  return { vectors, usage, terminated: undefined, error: reason }
}

function vectorsOf(completion: object): readonly (readonly number[])[] {
  const { data } = completion as { data?: unknown }
  assert.ok(Array.isArray(data), 'a completion must have a list `data`')
  const vectors: (readonly number[])[] = []
  for (const [position, item] of data.entries()) {
    assert.ok(isObject(item), 'an item of `data` must be an object')
    const { embedding, index } = item as { embedding?: unknown; index?: unknown }
    vectors[typeof index === 'number' ? index : position] = numbersOf(embedding)
  }
  return vectors
}

function numbersOf(embedding: unknown): readonly number[] {
  if (typeof embedding !== 'string') return embedding as readonly number[]
  const bytes = Buffer.from(embedding, 'base64')
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4))
}
