import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { CompatError, errorCodes } from '../../src/base/errors.js'
import type { Model } from '../../src/contracts/index.js'
import { completionSchema } from '../../src/operations/chat/reply-schemas.js'
import { modelList, modelObject } from '../../src/operations/models/model-object.js'
import { modelListSchema, modelSchema } from '../../src/operations/models/model-schemas.js'
import { createOpenApiDocument } from '../../src/operations/openapi/document.js'
import { errorFrame, errorReply } from '../../src/protocol/error-body.js'
import { errorFrameSchema, errorSchema, usageSchema } from '../../src/protocol/response-schemas.js'
import { wireUsage } from '../../src/protocol/wire-usage.js'
import { allEndpoints } from '../helpers/all-endpoints.js'

const MODEL: Model = {
  id: 'acme/fast',
  created: 1_700_000_000,
  ownedBy: 'acme',
  name: 'Fast',
  description: 'A fast model.',
  contextLength: 128_000,
  maxOutputTokens: 16_384,
  mediaTokens: 3_000,
  promptOverhead: 40,
  supportedParameters: ['temperature'],
  modalities: ['text'],
  prices: {
    input: '0.15',
    output: '0.60',
    cachedInput: '0.075',
    tiers: [{ above: 100_000, input: '0.30', output: '1.20' }],
  },
  priceVersion: '7',
}

const USAGE = wireUsage({
  cost: 1_200_000n,
  base: 1_000_000n,
  markup: 200_000n,
  basis: 'reported',
  byok: false,
  usage: { prompt: 11, cached: 0, cacheWrite: 0, completion: 7, reasoning: 0 },
})

describe('the OpenAPI document', () => {
  const endpoints = allEndpoints()
  const document = createOpenApiDocument(endpoints, { version: '1.2.3' })
  const responsesOf = (path: string, method: string) =>
    (document.paths[path]![method] as { responses: Record<string, { headers: object }> }).responses

  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    expect(await validator.validate(structuredClone(document))).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
    expect(document.info.version).toBe('1.2.3')
  })

  it('has a validator that detects invalid documents', async () => {
    const { paths: _, ...broken } = { ...document, info: {} }
    expect((await new Validator().validate(structuredClone(broken))).valid).toBe(false)
  })

  it('lists for the model endpoints only answers that they can give, without limits on calls', () => {
    const responses = responsesOf('/models', 'get')
    expect(Object.keys(responses)).toEqual(['200', '400', '401', '403', '500', '503'])
    const text = JSON.stringify(responses)
    for (const code of ['rate_limited', 'overloaded', 'price_missing']) expect(text).not.toContain(code)
  })

  it('states which answers may have a retry-after', () => {
    const responses = Object.entries(responsesOf('/chat/completions', 'post'))
    const waiting = responses.filter(([, { headers }]) => 'retry-after' in headers)
    const told = errorCodes.filter(
      ({ code }) => 'retry-after' in errorReply(new CompatError(code, '')).headers,
    )
    expect(waiting.map(([status]) => Number(status))).toEqual([...new Set(told.map(({ status }) => status))])
  })

  it('names every endpoint, relative to the mount', () => {
    expect(document.servers).toEqual([{ url: '.' }])
    expect(Object.keys(document.paths)).toEqual([
      '/chat/completions',
      '/responses',
      '/messages',
      '/embeddings',
      '/messages/count_tokens',
      '/models',
      '/models/{model_key}',
      '/key',
      '/credits',
      '/generation',
      '/envelope-keys',
      '/openapi.json',
    ])
  })

  it('contains every error code and resolves every reference', () => {
    const text = JSON.stringify(document)
    for (const { code } of errorCodes) expect(text).toContain(`"${code}"`)
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name!)
    expect(references).toContain('Usage')
    for (const name of references) expect(document.components.schemas).toHaveProperty(name)
  })

  it('agrees with how requests are checked', () => {
    expect(document.components.schemas.ChatCompletionRequest).toMatchObject({
      required: ['model', 'messages'],
      properties: {
        messages: { minItems: 1, maxItems: 10_000 },
        session_id: { type: 'string', minLength: 1, maxLength: 1_024 },
        routing: { anyOf: [{ additionalProperties: false }, { type: 'null' }] },
      },
    })
  })

  it('is a fresh object at every call', () => {
    expect(createOpenApiDocument(endpoints, { version: '1.2.3' })).toEqual(document)
    expect(createOpenApiDocument(endpoints, { version: '1.2.3' })).not.toBe(document)
  })
})

describe('a real answer with', () => {
  it('a model matches the OpenAPI document', () => {
    expect(modelSchema.parse(modelObject(MODEL))).toEqual(modelObject(MODEL))
    expect(JSON.parse(JSON.stringify(modelObject(MODEL)))).toStrictEqual({
      id: 'acme/fast',
      object: 'model',
      created: 1_700_000_000,
      owned_by: 'acme',
      root: 'acme/fast',
      parent: null,
      canonical_slug: 'acme/fast',
      name: 'Fast',
      description: 'A fast model.',
      context_length: 128_000,
      max_output_tokens: 16_384,
      supported_parameters: ['temperature'],
      modalities: ['text'],
      architecture: { modality: 'text->text', input_modalities: ['text'], output_modalities: ['text'] },
      top_provider: { context_length: 128_000, max_completion_tokens: 16_384, is_moderated: false },
      per_request_limits: null,
      default_parameters: null,
      supported_voices: null,
      links: { details: '/models/acme/fast' },
      pricing: {
        prompt: '0.00000015',
        completion: '0.0000006',
        input_cache_read: '0.000000075',
        input: '0.15',
        output: '0.60',
        cachedInput: '0.075',
        tiers: [{ above: 100_000, input: '0.30', output: '1.20' }],
      },
    })
  })

  it('a minimal model contains only what the client may see', () => {
    const row = { id: 'm', created: 0, ownedBy: 'acme', root: 'acme/m', parent: 'p', costPrice: '0.01' }
    const shown = JSON.parse(JSON.stringify(modelObject(row)))
    expect(shown).toMatchObject({
      id: 'm',
      created: 0,
      owned_by: 'acme',
      root: 'acme/m',
      parent: 'p',
      name: 'm',
    })
    expect(shown.supported_parameters).toEqual(expect.arrayContaining(['tools', 'temperature', 'max_tokens']))
    expect(Object.keys(shown)).toEqual([
      ...[
        'id',
        'object',
        'created',
        'owned_by',
        'root',
        'parent',
        'canonical_slug',
        'name',
        'description',
        'context_length',
      ],
      ...['supported_parameters', 'architecture', 'top_provider', 'pricing', 'per_request_limits'],
      ...['default_parameters', 'supported_voices', 'links'],
    ])
    expect(shown.pricing).toEqual({ prompt: '-1', completion: '-1' })
    const priced = { ...row, prices: { input: '1', output: '2', margin: '0.5' } }
    expect(JSON.parse(JSON.stringify(modelObject(priced))).pricing).toStrictEqual({
      prompt: '0.000001',
      completion: '0.000002',
      input: '1',
      output: '2',
    })
  })

  it('a list matches the OpenAPI document', () => {
    const list = { ...modelList([MODEL]), data: [modelObject(MODEL)] }
    expect(modelListSchema.parse(list)).toMatchObject({ total_count: 1 })
    expect(JSON.stringify(modelList([]))).toBe(
      '{"object":"list","data":[],"links":{"next":null},"total_count":0}',
    )
  })

  it('a usage matches the OpenAPI document', () => {
    expect(usageSchema.parse(USAGE)).toEqual(USAGE)
    expect(usageSchema.safeParse({ ...USAGE, cost: '0.0012' }).success).toBe(false)
    const choice = { index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }
    const envelope = { id: 'c', object: 'chat.completion', created: 1, model: 'm', usage: USAGE }
    const completion = { ...envelope, choices: [choice], system_fingerprint: null }
    expect(completionSchema.parse(completion)).toEqual(completion)
  })

  it('an error matches the OpenAPI document', () => {
    for (const { code } of errorCodes) {
      const error = new CompatError(code, 'No.')
      expect(errorSchema.safeParse(JSON.parse(errorReply(error).body)).success).toBe(true)
      expect(errorFrameSchema.safeParse(JSON.parse(errorFrame(error, USAGE).slice(6))).success).toBe(true)
    }
  })
})
