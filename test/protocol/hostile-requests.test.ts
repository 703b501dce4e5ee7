import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isCompatError } from '../../src/base/errors.js'
import { checkParameters, unlistedParameters } from '../../src/engine/admission/parameters.js'
import { chat } from '../../src/operations/chat/index.js'
import { parseChatRequest } from '../../src/operations/chat/read-request.js'
import { parseJsonBody } from '../../src/protocol/json-body.js'
import { isPlainText } from '../../src/protocol/text.js'

const MARKER = 'Zq7SecretZq7'
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(MARKER, '\ud800', '\u0000', '', null, -1, 0.1, [], {}, [MARKER], { type: MARKER }),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

/** Mostly valid, so that later checks are reached. */
function mostly(good: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: anything })
}

const part = mostly(fc.record({ type: mostly(fc.constantFrom('text', 'image_url')), text: anything }))
const message = fc.record(
  {
    role: mostly(fc.constantFrom('user', 'assistant', 'tool')),
    content: mostly(fc.oneof(fc.string(), fc.array(part, { maxLength: 3 }))),
    tool_calls: anything,
    __proto__: anything,
  },
  { requiredKeys: ['role', 'content'] },
)
const routing = fc.record(
  {
    order: mostly(fc.array(fc.constantFrom('openai', 'acme'))),
    sort: mostly(fc.constantFrom('price', 'latency')),
    max_price: mostly(fc.record({ input: mostly(fc.constantFrom(0.15, '2', 1e-9)) })),
    allow_fallbacks: mostly(fc.boolean()),
  },
  { requiredKeys: [] },
)
const KNOWN: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  stream: fc.boolean(),
  n: fc.integer({ min: 1, max: 128 }),
  session_id: fc.string({ minLength: 1, maxLength: 20 }),
  app_id: fc.constant('app'),
  user: fc.string({ unit: 'binary' }),
  action: anything,
  connected: anything,
  routing,
  stream_options: fc.constant({ include_usage: true }),
  response_format: fc.constant({ type: 'json_object' }),
  tools: fc.constant([{ type: 'function', function: { name: 'f' } }]),
  modalities: fc.constant(['text']),
  service_tier: fc.constant('auto'),
  temperature: fc.double({ noNaN: true, noDefaultInfinity: true }),
  constructor: anything,
  __proto__: anything,
  toString: anything,
}
const member = fc.oneof(
  {
    weight: 20,
    arbitrary: fc
      .constantFrom(...Object.keys(KNOWN), '__proto__')
      .chain((key) => fc.tuple(fc.constant(key), mostly(KNOWN[key] ?? anything))),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom('models', 'api_key', 'provider', 'provider_key', 'new_field', ''),
      anything,
    ),
  },
)
const request = fc
  .tuple(
    mostly(fc.constant('acme/fast')),
    mostly(fc.array(mostly(message), { minLength: 1, maxLength: 4 })),
    fc.array(member, { maxLength: 6 }),
  )
  .map(([model, messages, members]) =>
    [['model', model] as const, ['messages', messages] as const, ...members]
      .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
      .join(','),
  )
  .map((members) => `{${members}}`)

const MODELS = [undefined, ['temperature', 'tools']].map((supportedParameters) => ({
  id: 'acme/fast',
  created: 0,
  ownedBy: 'acme',
  supportedParameters,
}))

describe('hostile chat requests', () => {
  it('are accepted, or refused with a 4xx that repeats none of their values', () => {
    let taken = 0
    fc.assert(
      fc.property(
        fc.oneof({ weight: 4, arbitrary: request }, { weight: 1, arbitrary: fc.json() }),
        (text) => {
          try {
            const parsed = parseChatRequest(parseJsonBody(Buffer.from(text)).value)
            taken += 1
            expect(parsed.n).toBeGreaterThanOrEqual(1)
            for (const label of [parsed.own.appId, parsed.own.provider, parsed.forward.model]) {
              if (label !== undefined) expect(isPlainText(label)).toBe(true)
            }
            for (const field of [
              'session_id',
              'routing',
              'provider_key',
              'provider',
              'app_id',
              'stream_options',
              '__proto__',
            ]) {
              expect(Object.hasOwn(parsed.forward, field)).toBe(false)
            }
            for (const model of MODELS) checkParameters(chat, parsed, model)
            if (parsed.unlisted.length > 0) throw unlistedParameters(parsed, MODELS[0]!)
          } catch (error) {
            if (!isCompatError(error)) throw error
            expect(error.status).toBeGreaterThanOrEqual(400)
            expect(error.status).toBeLessThan(500)
            expect(error.details?.length ?? 0).toBeLessThanOrEqual(20)
            const shown = JSON.stringify([error.message, error.param, error.details])
            // Unknown models and tools of an unsupported kind are named in the message.
            if (error.code !== 'model_not_found' && !error.param?.startsWith('tools.'))
              expect(shown).not.toContain(MARKER)
            expect(isPlainText(error.message)).toBe(true)
            expect(error.cause).toBeUndefined()
          }
        },
      ),
      { seed: 5, numRuns: 5_000 },
    )
    expect(taken).toBeGreaterThan(500)
  })

  it('passed as values that were never JSON lead to the same results', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true, withDate: true }),
        (value) => {
          for (const body of [
            { model: value, messages: value },
            { model: 'm', messages: [value], routing: value },
          ]) {
            try {
              parseChatRequest(body)
            } catch (error) {
              if (!isCompatError(error)) throw error
              expect(error.status).toBeLessThan(500)
            }
          }
        },
      ),
      { seed: 6, numRuns: 2_000 },
    )
  })
})
