import { describe, expect, it } from 'vitest'
import type { ProviderEvent } from '../../../src/contracts/providers.js'
import type { JsonObject } from '../../../src/protocol/json-values.js'
import { MessageReader } from '../../../src/providers/anthropic/message-reader.js'

const message = (content: unknown, fields: object = {}) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content,
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 5 },
  ...fields,
})

function read(body: JsonObject): ProviderEvent[] {
  const events: ProviderEvent[] = []
  new MessageReader().readWhole(body, events)
  return events
}

const deltasOf = (body: JsonObject) =>
  read(body).flatMap((event) => (event.type === 'deltas' ? event.deltas : []))

describe('a whole Anthropic message', () => {
  it('has its unknown counts of cached tokens reported', () => {
    const usage = { input_tokens: 3, output_tokens: 5, cache_refresh_tokens: 9, cache_read_input_tokens: 4 }
    expect(read(message([], { usage })).at(-1)).toMatchObject({
      usage: { prompt: 7, unread: { cache_refresh_tokens: 9 } },
    })
  })

  it('becomes the deltas of one event, and its usage', () => {
    const block = { type: 'text', text: '' }
    expect(read(message([{ type: 'text', text: 'Hello' }]))).toEqual([
      {
        type: 'deltas',
        deltas: [
          {
            type: 'start',
            choice: 0,
            counts: { input_tokens: 3, output_tokens: 5, cache_read_input_tokens: 4 },
          },
          { type: 'begin', choice: 0, kind: 'text', block },
          { type: 'text', choice: 0, kind: 'text', text: 'Hello' },
          { type: 'done', choice: 0 },
          { type: 'end', choice: 0, reason: 'end_turn', stopSequence: undefined },
        ],
        labels: { id: 'msg_1' },
      },
      {
        type: 'usage',
        usage: { prompt: 7, cached: 4, cacheWrite: undefined, completion: 5, reasoning: undefined },
        final: true,
      },
    ])
  })

  it('keeps reasoning, calls, citations and the provider’s own tools, in their order', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'hidden' },
      { type: 'server_tool_use', id: 'srv', name: 'web_search', input: {} },
      { type: 'text', text: 'A', citations: [{ url: 'https://a.example' }, { type: 'char_location' }] },
      { type: 'text', text: 'B', citations: null },
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'sky' } },
      { type: 'tool_use', id: 'toolu_2', name: 'refresh', input: {} },
    ]
    expect(deltasOf(message(content, { stop_reason: 'tool_use' }))).toMatchObject([
      { type: 'start' },
      { type: 'begin', kind: 'thought', block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'text', kind: 'thought', text: 'Hm' },
      {
        type: 'thoughts',
        pieces: [{ kind: 'text', text: 'Hm', signature: 'sig', format: 'anthropic-claude-v1', index: 0 }],
        signature: 'sig',
      },
      { type: 'done' },
      { type: 'begin', kind: 'thought', block: content[1] },
      { type: 'thoughts', pieces: [{ kind: 'encrypted', data: 'hidden', index: 1 }] },
      { type: 'done' },
      { type: 'begin', kind: 'native', block: content[2] },
      { type: 'done' },
      { type: 'begin', kind: 'text', block: { type: 'text', text: '', citations: [] } },
      {
        type: 'annotation',
        annotation: { type: 'url_citation', url_citation: { url: 'https://a.example' } },
      },
      { type: 'annotation', annotation: undefined },
      { type: 'text', kind: 'text', text: 'A' },
      { type: 'done' },
      { type: 'begin', kind: 'text', block: { type: 'text', text: '', citations: null } },
      { type: 'text', kind: 'text', text: 'B' },
      { type: 'done' },
      { type: 'call', call: 5, id: 'toolu_1', name: 'look', input: '{"at":"sky"}', isLast: true },
      { type: 'call', call: 6, id: 'toolu_2', name: 'refresh', input: '', isLast: true },
      { type: 'end', reason: 'tool_use' },
    ])
  })

  it('is a failure if it reports one', () => {
    expect(() => read({ type: 'error', error: { type: 'overloaded_error', message: 'Busy' } })).toThrow(
      expect.objectContaining({ reason: 'error-frame', status: 529, providerMessage: 'Busy' }),
    )
  })

  it.each([[{}], [{ content: 'text' }]])('is an invalid response if it is %j', (body) => {
    expect(() => read(body)).toThrow(expect.objectContaining({ reason: 'invalid-response' }))
  })
})
