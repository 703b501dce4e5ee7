import { describe, expect, it } from 'vitest'
import { isProviderError, type ProviderError } from '../../../src/errors.js'
import type { ChatRequest } from '../../../src/protocol/chat-request.js'
import { buildRequestBody } from '../../../src/providers/openai-compatible/request.js'

const request: ChatRequest = { model: 'upstream-model', messages: [{ role: 'user', content: 'Hi' }] }
const build = (more: object, stream = false) => JSON.parse(buildRequestBody({ ...request, ...more }, stream))

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
})
