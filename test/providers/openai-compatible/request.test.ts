import { describe, expect, it } from 'vitest'
import { isProviderError, type ProviderError } from '../../../src/errors.js'
import { usesFastPaths } from '../../../src/fast-paths.js'
import type { ChatMessage, ChatRequest } from '../../../src/protocol/chat-request.js'
import { parseJsonBody } from '../../../src/protocol/json-body.js'
import { buildRequestBody } from '../../../src/providers/openai-compatible/request.js'

const LONG = 'The quick "brown" fox.\n'.repeat(2_000)
const request: ChatRequest = { model: 'upstream-model', messages: [{ role: 'user', content: 'Hi' }] }
const build = (more: object, stream = false) =>
  JSON.parse(String(buildRequestBody({ ...request, ...more }, stream)))

/** Messages as they come out of a request body. */
function received(messages: readonly object[]): ChatMessage[] {
  return parseJsonBody(Buffer.from(JSON.stringify({ messages }))).messages as ChatMessage[]
}

function withPart(part: object): object {
  return { messages: [{ role: 'user', content: [{ type: 'text', text: 'http://in.text' }, part] }] }
}

function refusal(part: object): ProviderError {
  try {
    build(withPart(part))
  } catch (error) {
    if (isProviderError(error)) return error
    throw error
  }
  throw new Error('The part was not refused.')
}

describe('buildRequestBody', () => {
  it('asks for a stream with its usage only where a stream is wanted', () => {
    expect(build({ stream: true }, true)).toEqual({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(build({ stream: false, stream_options: { include_usage: true } })).toEqual(request)
  })

  it('keeps other stream options, and lets none turn usage off', () => {
    const options = { include_usage: false, include_obfuscation: false }
    expect(build({ stream_options: options }, true).stream_options).toEqual({
      include_usage: true,
      include_obfuscation: false,
    })
    expect(build({ stream_options: 'x' }, true).stream_options).toEqual({ include_usage: true })
  })

  it('passes every other field on as it is', () => {
    const more = {
      temperature: 0,
      tools: [{ type: 'function' }],
      reasoning: { effort: 'low' },
      user: 'u',
      x: null,
    }
    expect(build(more)).toEqual({ ...request, ...more })
  })

  it('leaves out `parsed`, which clients send back and strict providers refuse', () => {
    const messages = [{ role: 'assistant', content: 'x', parsed: null, refusal: null, reasoning: 'r' }]
    const sent = build({ messages }).messages
    expect(sent).toEqual([{ role: 'assistant', content: 'x', refusal: null, reasoning: 'r' }])
    expect(messages[0]).toHaveProperty('parsed')
  })

  it.each([
    [{ reasoning: 'r', reasoning_content: 'r' }, { reasoning: 'r' }],
    [{ reasoning_content: 'r', reasoning: 'r' }, { reasoning_content: 'r' }],
    [{ reasoning: 'r' }, { reasoning: 'r' }],
    [{ reasoning_content: 'r' }, { reasoning_content: 'r' }],
    [
      { reasoning: 'r', reasoning_content: 's' },
      { reasoning: 'r', reasoning_content: 's' },
    ],
    [
      { reasoning: null, reasoning_content: null },
      { reasoning: null, reasoning_content: null },
    ],
  ])('says reasoning once, under the name that came first: of %j sends %j', (given, expected) => {
    const message = { role: 'assistant', content: 'x' }
    expect(build({ messages: [{ ...message, ...given }] }).messages).toEqual([{ ...message, ...expected }])
  })

  it('leaves out `parsed_arguments` of tool calls, and nothing else of them', () => {
    const calls = [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{}', parsed_arguments: {} } },
      { id: 'b', type: 'function', function: { name: 'f', arguments: '{"parsed_arguments":1}' } },
      { id: 'c', type: 'custom', custom: { name: 'g', input: 'x', parsed_arguments: 'kept' } },
      null,
    ]
    const sent = build({ messages: [{ role: 'assistant', content: null, tool_calls: calls }] }).messages
    const first = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
    expect(sent).toEqual([{ role: 'assistant', content: null, tool_calls: [first, ...calls.slice(1)] }])
    expect(calls[0]).toHaveProperty('function.parsed_arguments')
    expect(build({ messages: [{ role: 'assistant', tool_calls: 'none' }] }).messages[0].tool_calls).toBe(
      'none',
    )
  })

  it('passes https and data addresses on', () => {
    for (const url of [
      'https://example.com/a.png',
      'HTTPS://example.com/a.png',
      'data:image/png;base64,AAAA',
    ]) {
      expect(() => build(withPart({ type: 'image_url', image_url: { url } }))).not.toThrow()
    }
    expect(() =>
      build(withPart({ type: 'file', file: { file_data: 'AAAA', filename: 'c: d.pdf' } })),
    ).not.toThrow()
  })

  it('refuses any other address, and says where it stands', () => {
    for (const url of [
      'http://example.com',
      'file:///etc/passwd',
      'ftp://x',
      '//x/y',
      '/x',
      ' https://x',
      '',
      'gs://b',
    ]) {
      const error = refusal({ type: 'image_url', image_url: { url } })
      expect(error.reason).toBe('unsupported-request')
      expect(error.param).toBe('messages.0.content.1.image_url.url')
    }
    expect(refusal({ type: 'image_url', image_url: 'http://x' }).param).toBe('messages.0.content.1.image_url')
    expect(refusal({ type: 'video_url', video_url: { url: 'http://x' } }).param).toMatch(/video_url\.url$/)
    expect(refusal({ type: 'file', file: { file_data: 'http://x' } }).param).toMatch(/file\.file_data$/)
    expect(refusal({ type: 'file', file: { file_url: 'http://x' } }).param).toMatch(/file\.file_url$/)
    expect(refusal({ type: 'image', source: { type: 'url', url: 'http://x' } }).param).toMatch(/source\.url$/)
  })

  it.each<[string, object, string]>([
    ['in an object', { type: 'x', x: { y: { z: { url: 'http://x' } } } }, 'x.y.z.url'],
    [
      'in a list of objects',
      { type: 'x', images: [{ url: 'https://x' }, { url: 'http://x' }] },
      'images.1.url',
    ],
    ['in a list of addresses', { type: 'x', image_urls: ['https://x', 'gs://b'] }, 'image_urls.1'],
    ['in a list within a list', { type: 'x', url: [[], [['http://x']]] }, 'url.1.0.0'],
    [
      'in the content of a part',
      { type: 'tool_result', content: [{ source: { url: '/x' } }] },
      'content.0.source.url',
    ],
    ['named uri', { type: 'file', uri: 'gs://bucket/x' }, 'uri'],
    ['named …uri', { type: 'media', file_data: { fileUri: 'http://x' } }, 'file_data.fileUri'],
    ['in file_data further down', { type: 'x', files: [{ file_data: 'ftp://x' }] }, 'files.0.file_data'],
  ])('refuses an address %s, and says where it stands', (_, part, place) => {
    expect(refusal(part)).toMatchObject({
      reason: 'unsupported-request',
      param: `messages.0.content.1.${place}`,
      message: `messages.0.content.1.${place} must be an https: or a data: address.`,
    })
  })

  it.each<[string, object]>([
    ['https and data in lists', { type: 'x', urls: ['https://x', 'data:,x'], uri: 'HTTPS://x' }],
    ['text that looks like an address', { type: 'text', text: 'http://x', parts: [{ text: 'file:///x' }] }],
    ['a list of such texts', { type: 'x', lines: ['http://x', ['gs://b']] }],
    ['file_data in Base64', { type: 'file', file: { file_data: 'AAAA' } }],
    ['a name that has url only inside', { type: 'x', url_type: 'http', curly: 'http://x' }],
    ['what is no string', { type: 'x', url: null, uri: 7, image_url: { url: [] } }],
  ])('passes %s on as it is', (_, part) => {
    expect(build(withPart(part))).toEqual({ ...request, ...withPart(part) })
  })

  it('looks as deep as a body can be nested, and names a bounded part of the way', () => {
    const nest = (leaf: object) => {
      let part = leaf
      for (let depth = 0; depth < 124; depth++) part = { ['n'.repeat(50)]: part }
      return { type: 'x', ...part }
    }
    expect(() => build(withPart(nest({ url: 'https://x' })))).not.toThrow()
    const { param } = refusal(nest({ url: 'http://x' }))
    expect(param).toMatch(/^messages\.0\.content\.1\.n/)
    expect(param).toHaveLength(256)
  })

  it('does not look into content that is a string', () => {
    const messages = [{ role: 'user', content: 'url: http://x' }]
    expect(build({ messages }).messages).toEqual(messages)
  })

  it.each([
    ['as they are', { role: 'user', content: LONG }, usesFastPaths],
    ['but not with `parsed`', { role: 'assistant', content: LONG, parsed: null }, false],
  ])('sends the bytes of long messages on %s', (_, message, areBytes) => {
    const sent = buildRequestBody({ model: 'm', messages: received([message]) }, true)
    expect(Buffer.isBuffer(sent)).toBe(areBytes)
    expect(JSON.parse(String(sent))).toEqual({
      model: 'm',
      messages: [{ role: message.role, content: LONG }],
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  it('changes long messages as it does short ones', () => {
    const call = (more: object) => ({ id: 'a', type: 'function', function: { name: 'f', ...more } })
    const long = { role: 'user', content: LONG }
    const given = {
      role: 'assistant',
      reasoning: 'r',
      reasoning_content: 'r',
      tool_calls: [call({ parsed_arguments: 1 })],
    }
    const sent = String(buildRequestBody({ model: 'm', messages: received([long, given]) }, false))
    const expected = { role: 'assistant', reasoning: 'r', tool_calls: [call({})] }
    expect(JSON.parse(sent).messages).toEqual([long, expected])
  })

  it('looks at the addresses in long messages too', () => {
    const content = [{ type: 'text', text: LONG }, { image_url: { url: 'http://inside' } }]
    const messages = received([{ role: 'user', content }])
    expect(() => build({ messages })).toThrow('messages.0.content.1.image_url.url')
  })
})
