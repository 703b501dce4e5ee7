import { describe, expect, it } from 'vitest'
import type { Model } from '../../src/contracts/index.js'
import { checkParameters, unsupportedBy } from '../../src/engine/admission/parameters.js'
import { type CompatError, isCompatError } from '../../src/errors.js'
import { parseChatRequest } from '../../src/protocol/chat-request.js'

function request(fields: Record<string, unknown>) {
  return parseChatRequest({ model: 'acme/fast', messages: [{ role: 'user', content: 'x' }], ...fields })
}

function refusal(
  supportedParameters: readonly string[] | undefined,
  fields: Record<string, unknown>,
): CompatError | undefined {
  const model: Model = { id: 'acme/fast', created: 0, ownedBy: 'acme', supportedParameters }
  try {
    checkParameters(model, request(fields))
    return undefined
  } catch (error) {
    if (isCompatError(error)) return error
    throw error
  }
}

describe('a model with a list of parameters', () => {
  it('takes those and no other', () => {
    expect(refusal(['temperature'], { temperature: 0 })).toBeUndefined()
    const error = refusal(['temperature'], { temperature: 0, top_p: 1, stop: 'x' })
    expect(error).toMatchObject({ code: 'unsupported_parameter', status: 400, param: 'top_p' })
    expect(error?.message).toBe("The model 'acme/fast' does not support the parameter top_p.")
    expect(error?.details).toMatchObject([{ param: 'top_p' }, { param: 'stop' }])
  })

  it('always takes null, n: 1 and what is not optional or not the provider’s', () => {
    const fields = {
      temperature: null,
      n: 1,
      stream: true,
      stream_options: { include_usage: true },
      user: 'u',
      session_id: 's',
      app_id: 'a',
      action: 'x',
      connected: 1,
      routing: {},
    }
    expect(refusal([], fields)).toBeUndefined()
    expect(refusal([], { n: 2 })).toMatchObject({ param: 'n' })
    expect(refusal(['n'], { n: 2 })).toBeUndefined()
  })

  it('matches names as whole strings', () => {
    expect(refusal(['top', 'top_p_x', 'TOP_P'], { top_p: 1 })).toMatchObject({ param: 'top_p' })
    expect(refusal([], { constructor: 1 })).toMatchObject({ param: 'constructor' })
  })

  it('has the field named without control characters, and at most 20 fields named', () => {
    expect(refusal([], { [`\u0000${'x'.repeat(100)}`]: 1 })?.param).toBe('x'.repeat(64))
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`field_${index}`, 1]))
    expect(refusal([], many)?.details).toHaveLength(20)
  })
})

describe('a model without a list of parameters', () => {
  it('takes any but those that would be billed beyond its price', () => {
    expect(
      refusal(undefined, { temperature: 0, some_new_field: {}, store: false, modalities: ['text'] }),
    ).toBeUndefined()
  })
})

describe('what is billed beyond the price', () => {
  it.each([
    [{ plugins: [{ id: 'web' }] }, 'plugins'],
    [{ web_search_options: {} }, 'web_search_options'],
    [{ background: true }, 'background'],
    [{ store: true }, 'store'],
    [{ service_tier: 'priority' }, 'service_tier'],
    [{ service_tier: 'flex' }, 'service_tier'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
    [{ modalities: 'audio' }, 'modalities'],
    [{ audio: { voice: 'alloy' } }, 'audio'],
  ])('%j is refused unless the list names it', (fields, param) => {
    expect(refusal(undefined, fields)).toMatchObject({ code: 'unsupported_parameter', param })
    expect(refusal(['temperature'], fields)).toMatchObject({ code: 'unsupported_parameter', param })
    expect(refusal([param], fields)).toBeUndefined()
  })

  it.each([
    { plugins: null },
    { audio: null },
    { store: null },
    { service_tier: 'auto' },
    { service_tier: 'default' },
    { service_tier: null },
    { modalities: null },
    { modalities: [] },
  ])('%j is not', (fields) => {
    expect(refusal(undefined, fields)).toBeUndefined()
  })

  it('is a hosted tool, unless the list names it with its type', () => {
    const tools = [{ type: 'function' }, { type: 'custom' }, { type: 'web_search' }, { type: 'mcp' }]
    expect(refusal(undefined, { tools: tools.slice(0, 2) })).toBeUndefined()
    expect(refusal(['tools'], { tools: tools.slice(0, 2) })).toBeUndefined()
    expect(refusal(undefined, { tools })?.details).toMatchObject([
      { param: 'tools.web_search' },
      { param: 'tools.mcp' },
    ])
    expect(refusal(['tools', 'tools.web_search'], { tools })).toMatchObject({ param: 'tools.mcp' })
    expect(refusal(['tools', 'tools.web_search', 'tools.mcp'], { tools })).toBeUndefined()
    expect(refusal(['tools.web_search'], { tools: [tools[2]] })).toMatchObject({ param: 'tools' })
    expect(refusal(undefined, { tools: null })).toBeUndefined()
  })

  it.each([
    [[{}]],
    [[{ google_search: {} }]],
    [[null]],
    [['web_search']],
    [[{ type: ['web_search'] }]],
    [{ google_search: {} }],
  ])('may be a tool without a type: %j is refused', (tools) => {
    expect(refusal(undefined, { tools })).toMatchObject({
      code: 'unsupported_parameter',
      param: 'tools.type',
    })
  })
})

describe('unsupportedBy', () => {
  it('tells what a route does not take', () => {
    const { forward } = request({ temperature: 0, tools: [{ type: 'function' }] })
    expect(unsupportedBy(undefined, forward)).toEqual([])
    expect(unsupportedBy(['temperature'], forward)).toEqual(['tools'])
    expect(unsupportedBy(['temperature', 'tools'], forward)).toEqual([])
  })
})
