import { describe, expect, it } from 'vitest'
import { parseChatRequest } from '../../../src/operations/chat/read-request.js'
import { body, refusal } from '../chat-request-refusal.js'

function read(...messages: readonly object[]) {
  const { forward, leftOut, marksCache, unlisted } = parseChatRequest(body({ messages }))
  return { messages: forward.messages, leftOut, marksCache, unlisted }
}

const user = (...parts: readonly object[]) => ({ role: 'user', content: parts })
const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1.0}' } }

describe('a chat message', () => {
  it.each<object>([
    { role: 'system', content: 'x', name: 'n' },
    { role: 'developer', content: [{ type: 'text', text: 'x' }] },
    user({ type: 'text', text: 'x' }, { type: 'image_url', image_url: { url: 'data:,', detail: 'low' } }),
    user({ type: 'input_image', image_url: 'data:,', detail: 'auto' }),
    user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
    user({ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }),
    user({ type: 'video_url', video_url: { url: 'https://example.com/v.mp4' } }),
    {
      role: 'assistant',
      content: '',
      tool_calls: [call, { id: 'd', type: 'custom', custom: { name: 'g', input: 'x' } }],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ ...call, extra_content: { google: { thought_signature: 's' } } }],
    },
    { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'a' },
        { type: 'refusal', refusal: 'no' },
      ],
    },
    {
      role: 'assistant',
      content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'a' }], signature: 's' }],
    },
    {
      role: 'assistant',
      content: 'x',
      reasoning: 'r',
      reasoning_content: 'r',
      reasoning_details: [{ type: 'reasoning.text', text: 't', signature: 's', index: 0, format: 'f' }],
    },
    { role: 'assistant', content: null, reasoning: 'r' },
    {
      role: 'assistant',
      content: null,
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }],
    },
    { role: 'assistant', content: 'Sure', prefix: true },
    { role: 'tool', content: [{ type: 'text', text: 'x' }], tool_call_id: 'c', name: 'f', is_error: true },
    { role: 'function', content: 'x', name: 'f' },
    { role: 'a-role-of-a-server', content: 'x' },
  ])('is forwarded unchanged: %j', (message) => {
    const { leftOut, messages } = read({ role: 'user', content: 'x' }, message)
    expect(messages[1]).toBe(message)
    expect(leftOut).toEqual([])
  })

  it('silently loses members that repeat a reply or mean nothing', () => {
    const given = {
      role: 'assistant',
      content: 'x',
      refusal: null,
      parsed: { a: 1 },
      annotations: [{}],
      citations: ['x'],
      audio: null,
      function_call: null,
      tool_calls: [],
      reasoning_details: [],
    }
    expect(read(given)).toMatchObject({ messages: [{ role: 'assistant', content: 'x' }], leftOut: [] })
    expect(Object.keys(read(given).messages[0]!)).toEqual(['role', 'content'])
    expect(given).toHaveProperty('parsed')
  })

  it('loses unknown members, which are reported by their path', () => {
    const { leftOut, messages } = read(
      { role: 'user', content: 'x', toolCalls: [], providerOptions: { gateway: {} } },
      user({ type: 'text', text: 'y', role: 'user', tool_calls: [call], 'bad\u0000name': 1 }),
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ ...call, index: 0, function: { ...call.function, Name: 'g', parsed_arguments: {} } }],
      },
      { role: 'tool', content: 'z', tool_call_id: 'c', artifact: 1 },
    )
    expect(messages).toEqual([
      { role: 'user', content: 'x' },
      user({ type: 'text', text: 'y' }),
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', content: 'z', tool_call_id: 'c' },
    ])
    expect(leftOut).toEqual([
      'messages.toolCalls',
      'messages.providerOptions',
      'messages.content.role',
      'messages.content.tool_calls',
      'messages.content.badname',
      'messages.tool_calls.function.Name',
      'messages.artifact',
    ])
  })

  it('loses possible media in the reasoning of a reply, which no hold covers', () => {
    const source = { type: 'url', url: 'http://169.254.169.254/' }
    const { leftOut, messages } = read({
      role: 'assistant',
      content: 'x',
      reasoning_details: [{ type: 'reasoning.text', text: 't', image_url: source }],
      thinking_blocks: [{ type: 'image', source, Type: 'image' }],
    })
    expect(messages).toEqual([
      {
        role: 'assistant',
        content: 'x',
        reasoning_details: [{ type: 'reasoning.text', text: 't' }],
        thinking_blocks: [{ type: 'image' }],
      },
    ])
    expect(leftOut).toContain('messages.reasoning_details.image_url')
  })

  it('has at most 20 lost members reported', () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x${index}`, 1]))
    expect(read({ role: 'user', content: 'x', ...many }).leftOut).toHaveLength(20)
  })

  it.each(['images', 'image', 'videos', 'audios', 'documents', 'files', 'attachments'])(
    'is refused with content in %s, which no provider would read, but a reply only loses it',
    (name) => {
      for (const role of ['user', 'system', 'tool']) {
        const error = refusal(body({ messages: [{ role, content: 'x', tool_call_id: 'c', [name]: ['a'] }] }))
        expect(error).toMatchObject({ code: 'invalid_request', param: `messages.0.${name}` })
      }
      if (name !== 'images') {
        const { leftOut, messages } = read({ role: 'assistant', content: 'x', [name]: ['a'] })
        expect([messages, leftOut]).toEqual([[{ role: 'assistant', content: 'x' }], [`messages.${name}`]])
      }
    },
  )

  it.each<[object, string]>([
    [{ role: 'user', content: 'x', name: 7 }, 'messages.0.name'],
    [{ role: 'assistant', content: 'x', refusal: 1 }, 'messages.0.refusal'],
    [{ role: 'assistant', content: 'x', reasoning: {} }, 'messages.0.reasoning'],
    [{ role: 'assistant', content: 'x', reasoning_details: ['x'] }, 'messages.0.reasoning_details.0'],
    [{ role: 'assistant', content: 'x', tool_calls: 'none' }, 'messages.0.tool_calls'],
    [{ role: 'assistant', tool_calls: [null] }, 'messages.0.tool_calls.0'],
    [
      { role: 'assistant', tool_calls: [{ function: { arguments: {} } }] },
      'messages.0.tool_calls.0.function.arguments',
    ],
    [{ role: 'tool', content: 'x', tool_call_id: 1 }, 'messages.0.tool_call_id'],
    [user({ type: 'image' }), 'messages.0.content.0.type'],
    [user({ type: 'document', document: {} }), 'messages.0.content.0.type'],
    [user({ type: 'constructor' }), 'messages.0.content.0.type'],
    [{ role: 'system', content: [{ type: 'image_url', image_url: 'data:,' }] }, 'messages.0.content.0.type'],
    [{ role: 'assistant', content: [{ type: 'file', file: {} }] }, 'messages.0.content.0.type'],
    [user({ type: 'text' }), 'messages.0.content.0.text'],
    [user({ type: 'image_url' }), 'messages.0.content.0.image_url'],
    [user({ type: 'image_url', image_url: {} }), 'messages.0.content.0.image_url.url'],
    [
      user({ type: 'image_url', image_url: { url: 'data:,', detail: 'max' } }),
      'messages.0.content.0.image_url.detail',
    ],
    [
      user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'a'.repeat(17) } }),
      'messages.0.content.0.input_audio.format',
    ],
    [user({ type: 'input_audio', input_audio: {} }), 'messages.0.content.0.input_audio.data'],
    [
      user({ type: 'text', text: 'x', cache_control: { type: 'forever' } }),
      'messages.0.content.0.cache_control.type',
    ],
    [
      user({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1d' } }),
      'messages.0.content.0.cache_control.ttl',
    ],
    [user({ type: 'text', text: 'x', cache_control: true }), 'messages.0.content.0.cache_control'],
  ])('is refused as %j, naming the path', (message, param) => {
    expect(refusal(body({ messages: [message] }))).toMatchObject({ code: 'invalid_request', param })
  })

  it('has alternative names of text parts changed to the one that all providers read', () => {
    const { messages } = read(user({ type: 'input_text', text: 'x' }), {
      role: 'assistant',
      content: [{ type: 'output_text', text: 'y' }],
    })
    expect(messages).toEqual([
      user({ type: 'text', text: 'x' }),
      { role: 'assistant', content: [{ type: 'text', text: 'y' }] },
    ])
  })

  it('requests no longer cache time than is priced', () => {
    const mark = (ttl?: string) => ({
      type: 'text',
      text: 'x',
      cache_control: { type: 'ephemeral', ...(ttl && { ttl }) },
    })
    const asked = user(mark(), mark('5m'), mark('1h'))
    expect(read(asked)).toMatchObject({ messages: [user(mark(), mark('5m'), mark('5m'))], marksCache: true })
    expect(read({ role: 'user', content: 'x' }).marksCache).toBe(false)
  })

  it('lists the fields that only a host can allow: files and audio of earlier calls', () => {
    const { unlisted } = read(user({ type: 'file', file: { file_id: 'file-1' } }), {
      role: 'assistant',
      content: null,
      audio: { id: 'audio-1' },
    })
    expect(unlisted).toEqual([
      { name: 'file_id', param: 'messages.0.content.0.file.file_id' },
      { name: 'audio', param: 'messages.1.audio' },
    ])
  })
})
