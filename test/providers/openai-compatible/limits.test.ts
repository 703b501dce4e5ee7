import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { openaiCompatible } from '../../../src/index.js'
import { fittingFields } from '../../../src/providers/openai-compatible/limits.js'

const tool = (parameters: unknown) => ({ type: 'function', function: { name: 'f', parameters } })
const flat = (parameters: unknown) => ({ type: 'function', name: 'f', parameters })

describe('a request for a provider as strict as OpenAI', () => {
  it.each([
    ['a short label', { user: 'u'.repeat(64) }],
    [
      'settings of tools with tools',
      { tools: [tool({ type: 'object', properties: {} })], tool_choice: 'auto' },
    ],
    ['settings of tools with functions', { functions: [{ name: 'f' }], parallel_tool_calls: false }],
    ['a schema with properties', { tools: [flat({ properties: { a: {} } })] }],
    [
      'a schema of another kind',
      { tools: [tool({ anyOf: [{ type: 'object' }] }), flat({ type: 'string' })] },
    ],
    ['a tool without a schema', { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['a tool of another type', { tools: [{ type: 'custom', custom: { name: 'f' } }, 'x'] }],
  ])('keeps %s', (_name, fields) => {
    expect(fittingFields(fields)).toEqual({})
  })

  it.each(['user', 'safety_identifier', 'prompt_cache_key'])('has a digest of a long %s', (name) => {
    const label = 'u'.repeat(65)
    expect(fittingFields({ [name]: label })).toEqual({
      [name]: createHash('sha256').update(label).digest('hex'),
    })
  })

  it.each([[undefined], [null], [[]]])('has no settings of tools with %j as tools', (tools) => {
    expect(fittingFields({ tools, tool_choice: 'none', parallel_tool_calls: false })).toEqual({
      tool_choice: undefined,
      parallel_tool_calls: undefined,
    })
  })

  it.each([{}, { type: 'object' }, { type: 'object', additionalProperties: false }, { $schema: 'x' }])(
    'has properties in the schema %j',
    (schema) => {
      const whole = { type: 'object', ...schema, properties: {} }
      expect(fittingFields({ tools: [tool(schema), flat(schema)] })).toEqual({
        tools: [tool(whole), flat(whole)],
      })
    },
  )
})

describe('the settings of openaiCompatible', () => {
  it('name the output limit as api.openai.com does, unless the host names it', () => {
    const boundAt = (baseUrl: string, more: object = {}) => openaiCompatible({ baseUrl, ...more }).outputBound
    expect(boundAt('https://api.openai.com/v1')).toBe('max_completion_tokens')
    expect(boundAt('https://api.openai.com/v1', { outputBound: 'max_tokens' })).toBe('max_tokens')
    expect(boundAt('https://llm.example/v1')).toBeUndefined()
  })

  it('state the least output limit of the Responses API', () => {
    const baseUrl = 'https://llm.example/v1'
    expect(openaiCompatible({ baseUrl, api: 'responses' }).leastOutputBound).toBe(16)
    expect(openaiCompatible({ baseUrl }).leastOutputBound).toBeUndefined()
  })
})
