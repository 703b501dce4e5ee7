import { describe, expect, it } from 'vitest'
import type { ChatCompletion } from '../../../src/protocol/completion.js'
import { readMessage } from '../../../src/providers/anthropic/message.js'

const message = (content: unknown, fields: object = {}) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content,
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 5 },
  ...fields,
})

const choiceOf = (body: unknown) => {
  const [event] = readMessage(body)
  return event?.type === 'completion' ? (event.completion as ChatCompletion).choices[0] : undefined
}

describe('a whole Anthropic message', () => {
  it('has its unknown counts of cached tokens reported', () => {
    const usage = { input_tokens: 3, output_tokens: 5, cache_refresh_tokens: 9, cache_read_input_tokens: 4 }
    expect(readMessage(message([], { usage })).at(-1)).toMatchObject({
      usage: { prompt: 7, unread: { cache_refresh_tokens: 9 } },
    })
  })

  it('becomes one completion and its usage', () => {
    expect(readMessage(message([{ type: 'text', text: 'Hello' }]))).toEqual([
      {
        type: 'completion',
        completion: {
          id: 'msg_1',
          object: 'chat.completion',
          choices: [
            { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'end_turn' },
          ],
        },
      },
      {
        type: 'usage',
        usage: { prompt: 7, cached: 4, cacheWrite: undefined, completion: 5, reasoning: undefined },
      },
    ])
  })

  it('keeps reasoning, calls and citations, and skips the provider’s own tools', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'hidden' },
      { type: 'server_tool_use', id: 'srv', name: 'web_search', input: {} },
      { type: 'text', text: 'A', citations: [{ url: 'https://a.example' }, { type: 'char_location' }] },
      { type: 'text', text: 'B', citations: null },
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'sky' } },
      { type: 'tool_use', id: 'toolu_2', name: 'refresh', input: {} },
    ]
    expect(choiceOf(message(content, { stop_reason: 'tool_use' }))).toEqual({
      index: 0,
      finish_reason: 'tool_use',
      message: {
        role: 'assistant',
        content: 'AB',
        reasoning: 'Hm',
        reasoning_content: 'Hm',
        reasoning_details: [
          { type: 'reasoning.text', text: 'Hm', signature: 'sig', format: 'anthropic-claude-v1', index: 0 },
          { type: 'reasoning.encrypted', data: 'hidden', format: 'anthropic-claude-v1', index: 1 },
        ],
        tool_calls: [
          { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":"sky"}' } },
          { id: 'toolu_2', type: 'function', function: { name: 'refresh', arguments: '{}' } },
        ],
        annotations: [
          {
            type: 'url_citation',
            url_citation: {
              url: 'https://a.example',
              title: 'https://a.example',
              start_index: 0,
              end_index: 0,
            },
          },
        ],
      },
    })
  })

  it('has no content if it contains only calls, and empty content if it contains nothing', () => {
    const call = { type: 'tool_use', id: 'a', name: 'f', input: {} }
    expect(choiceOf(message([call]))).toMatchObject({ message: { content: null } })
    expect(choiceOf(message([], { stop_reason: 'refusal' }))).toMatchObject({
      message: { content: '' },
      finish_reason: 'refusal',
    })
  })

  it('is a failure if it reports one', () => {
    expect(() =>
      readMessage({ type: 'error', error: { type: 'overloaded_error', message: 'Busy' } }),
    ).toThrow(expect.objectContaining({ reason: 'error-frame', status: 529, providerMessage: 'Busy' }))
  })

  it.each([[{}], [{ content: 'text' }]])('is an invalid response if it is %j', (body) => {
    expect(() => readMessage(body)).toThrow(expect.objectContaining({ reason: 'invalid-response' }))
  })
})
