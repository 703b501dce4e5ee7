import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerJson } from '../helpers/scripted-upstream.js'
import { API_KEY, MODEL, WireService } from './service.js'

const NUL = String.fromCharCode(0)
const ODD: readonly unknown[] = [null, NUL, [null], { toString: 1 }]

const text = { type: 'text', text: 'Hi' }
const call = { id: 'call_1', type: 'function', function: { name: 'find', arguments: '{"a":[1]}' } }
const schema = { type: 'object', properties: { a: { type: 'array', items: { type: 'number' } } } }

/** A request of each API with many nested members. */
const BODIES: Readonly<Record<string, object>> = {
  '/chat/completions': {
    model: MODEL,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [text, { type: 'image_url', image_url: { url: 'https://a.example/b.png' } }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [call],
        reasoning_details: [{ type: 'reasoning.text' }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '{"b":2}' },
    ],
    tools: [{ type: 'function', function: { name: 'find', parameters: schema } }],
    tool_choice: { type: 'function', function: { name: 'find' } },
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
    stream_options: { include_usage: true },
    provider_key: { provider: 'p0', ciphertext: 'a' },
    routing: { order: ['p0'] },
  },
  '/responses': {
    model: MODEL,
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'function_call', call_id: 'call_1', name: 'find', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'b' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'a' },
      { type: 'item_reference', id: 'msg_1' },
    ],
    tools: [{ type: 'function', name: 'find', parameters: schema }],
    text: { format: { type: 'json_schema', name: 'a', schema } },
    reasoning: { effort: 'low' },
    include: ['reasoning.encrypted_content'],
  },
  '/messages': {
    model: MODEL,
    max_tokens: 50,
    system: [{ ...text, cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [text, { type: 'image', source: { type: 'url', url: 'https://a.example/b' } }],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'find', input: { a: [1] } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [text] }] },
    ],
    tools: [{ name: 'find', input_schema: schema }],
    thinking: { type: 'enabled', budget_tokens: 1_024 },
  },
  '/embeddings': { model: MODEL, input: ['Hi', 'you'], dimensions: 5, encoding_format: 'float' },
}

/** Copies of a value, each with one odd value in place of a part of it. */
function* mutations(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, part] of Object.entries(value)) {
    const withPart = (other: unknown): unknown =>
      Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other }
    for (const odd of ODD) yield withPart(odd)
    for (const other of mutations(part)) yield withPart(other)
  }
}

describe('a request that the router cannot read', () => {
  let service: WireService
  beforeAll(async () => {
    service = await WireService.start()
    // Whatever passes on to the provider is a bad request there.
    service.upstream.script(answerJson({ error: { message: 'no' } }, 400))
  })
  // Checks that there was no fault.
  afterAll(() => service.close())

  async function expectRefusal(path: string, body: unknown): Promise<void> {
    const response = await service.host.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const reply = await response.text()
    expect([response.status < 500, JSON.stringify(body), reply]).toEqual([true, JSON.stringify(body), reply])
  }

  it.each(Object.keys(BODIES))(
    "is refused as its caller's mistake, wherever the problem is in a body of %s",
    async (path) => {
      for (const body of mutations(BODIES[path])) await expectRefusal(path, body)
    },
  )

  it.each(Object.keys(BODIES))(
    "is refused as its caller's mistake in every documented field of %s",
    async (path) => {
      const document = (await (await service.get('/openapi.json')).json()) as {
        paths: Record<string, { post: { requestBody: { content: Record<string, { schema: unknown }> } } }>
        components: { schemas: Record<string, object> }
      }
      const names = fieldsOf(document.paths[path]!.post.requestBody, document.components.schemas)
      expect(names.size).toBeGreaterThan(3)
      for (const name of names) {
        for (const odd of ODD) await expectRefusal(path, { ...BODIES[path], [name]: odd })
      }
    },
  )

  it.each([
    '/models?operation=%00',
    '/models?operation[toString]=1&supported_parameters=%FF',
    '/models/%00',
    '/models/%E0%A4%A',
    '/models/__proto__',
    '/generation?id=%00',
    '/generation?id=a&id=b',
    '/generation?id[toString]=1',
    '/responses/%00',
    '/responses/..%2f..%2fkey?stream=%00',
    '/key?a=%00',
    '/credits?%00',
    '/envelope-keys?%FF',
  ])('is no fault in an address: %s', async (path) => {
    const { status } = await service.get(path)
    expect(status).toBeLessThan(500)
  })

  it.each([
    ['idempotency-key', '"'],
    ['idempotency-key', 'a'.repeat(5_000)],
    ['x-request-id', '\u00ff'.repeat(300)],
    ['anthropic-version', '\u00ff'],
    ['anthropic-beta', ',,\u00ff'],
    ['user-agent', '\u00ff'],
    ['x-stainless-retry-count', '-1e9'],
    ['if-none-match', '"\u00ff'],
    ['content-type', 'application/json; charset="'],
    ['content-encoding', '\u00ff'],
    ['authorization', 'Bearer \u00ff'],
    ['authorization', 'Bearer'],
    ['x-api-key', '\u00ff'],
    ['origin', '\u00ff'],
  ])('is no fault in the header %s', async (name, value) => {
    for (const path of Object.keys(BODIES)) {
      const response = await service.host.request(path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${API_KEY}`,
          'content-type': 'application/json',
          [name]: value,
        },
        body: JSON.stringify(BODIES[path]),
      })
      await response.text()
      expect([path, response.status < 500]).toEqual([path, true])
    }
  })
})

/** The names of the fields of a schema of OpenAPI, with those that it refers to. */
function fieldsOf(schema: unknown, schemas: Readonly<Record<string, object>>): ReadonlySet<string> {
  const found = new Set<string>()
  const seen = new Set<unknown>()
  const look = (part: unknown): void => {
    if (typeof part !== 'object' || part === null || seen.has(part)) return
    seen.add(part)
    const { $ref, properties } = part as { $ref?: string; properties?: object }
    if (properties !== undefined) for (const name of Object.keys(properties)) found.add(name)
    if ($ref !== undefined) look(schemas[$ref.slice($ref.lastIndexOf('/') + 1)])
    for (const inner of Object.values(part)) look(inner)
  }
  look(schema)
  return found
}
