import { describe, expect, it } from 'vitest'
import type { ChatRequest } from '../../../src/protocol/chat-request.js'
import { parseJsonBody } from '../../../src/protocol/json-body.js'
import { buildRequestBody } from '../../../src/providers/openai-compatible/request.js'

const LONG = 'The quick "brown" fox.\n'.repeat(2_000)
const request: ChatRequest = { model: 'upstream-model', messages: [{ role: 'user', content: 'Hi' }] }
const build = (more: object, stream = false) =>
  JSON.parse(String(buildRequestBody({ ...request, ...more }, stream)))

/** The body that is sent on for messages that came in a request body. */
function sendOn(messages: readonly object[], stream: boolean): string | Buffer {
  const { sentText, value } = parseJsonBody(Buffer.from(JSON.stringify({ model: 'm', messages })))
  return buildRequestBody(value as ChatRequest, stream, undefined, sentText)
}

describe('buildRequestBody', () => {
  it('asks for a stream with its usage only if a stream is requested', () => {
    expect(build({ stream: true }, true)).toEqual({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    })
    expect(build({ stream: false, stream_options: { include_usage: true } })).toEqual(request)
  })

  it('passes on every other field unchanged', () => {
    const more = {
      temperature: 0,
      tools: [{ type: 'function' }],
      reasoning: { effort: 'low' },
      user: 'u',
      x: null,
    }
    expect(build(more)).toEqual({ ...request, ...more })
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
  ])('sends reasoning once, under the name that came first: of %j sends %j', (given, expected) => {
    const message = { role: 'assistant', content: 'x' }
    expect(build({ messages: [{ ...message, ...given }] }).messages).toEqual([{ ...message, ...expected }])
  })

  it('omits the member of a tool result that is only for other providers', () => {
    const called = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
    const reply = { role: 'assistant', content: null, tool_calls: [called] }
    const messages = [reply, { role: 'tool', content: 'x', tool_call_id: 'c', is_error: true }]
    expect(build({ messages }).messages).toEqual([reply, { role: 'tool', content: 'x', tool_call_id: 'c' }])
    expect(messages[1]).toHaveProperty('is_error')
  })

  it('copies the schemas of tools and formats digit for digit', () => {
    const schema = '{"maximum":9223372036854775807,"multipleOf":1.0,"2":{"const":1e400},"1":"\\u0041 7.50"}'
    const text =
      `{"messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}],` +
      `"functions":[{"name":"g","parameters": ${schema} }],"response_format":` +
      `{"type":"json_schema","json_schema":{"schema":${schema}}}}`
    const given = parseJsonBody(Buffer.from(text)).value as ChatRequest
    const sent = String(buildRequestBody({ ...given, model: 'm' }, false))
    expect(sent.split(schema)).toHaveLength(4)
    expect(JSON.parse(sent)).toEqual({ ...JSON.parse(text), model: 'm' })
  })

  it.each([
    ['as they are', { role: 'user', content: LONG }, true],
    [
      'but not with a member that is for another API',
      { role: 'tool', tool_call_id: 'a', content: LONG, is_error: true },
      false,
    ],
  ])('sends the bytes of long messages on %s', (_, message, areBytes) => {
    const { is_error: _other, ...wanted } = message as Record<string, unknown>
    const reply = { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function' }] }
    const before = message.role === 'tool' ? [reply] : []
    const sent = sendOn([...before, message], true)
    expect(Buffer.isBuffer(sent)).toBe(areBytes)
    expect(JSON.parse(String(sent))).toEqual({
      model: 'm',
      messages: [...before, wanted],
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  it('changes long messages in the same way as short ones', () => {
    const call = (more: object) => ({ id: 'a', type: 'function', function: { name: 'f', ...more } })
    const long = { role: 'user', content: LONG }
    const given = {
      role: 'assistant',
      reasoning: 'r',
      reasoning_content: 'r',
      tool_calls: [call({})],
    }
    const sent = String(sendOn([long, given], false))
    const expected = { role: 'assistant', reasoning: 'r', tool_calls: [call({})] }
    expect(JSON.parse(sent).messages).toEqual([long, expected])
  })
})
