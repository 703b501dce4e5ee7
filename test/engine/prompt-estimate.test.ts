import { describe, expect, it } from 'vitest'
import { isCompatError } from '../../src/base/errors.js'
import type { Model } from '../../src/contracts/index.js'
import type { TokenCounter } from '../../src/contracts/token-counter.js'
import { functionForCustom } from '../../src/conversation/custom-tools.js'
import { orphanWords } from '../../src/conversation/results.js'
import { fittingNames, PLAIN_NAME } from '../../src/conversation/tool-names.js'
import { createByteCounter } from '../../src/engine/charging/token-counters.js'
import { estimatePrompt, predictedTokens } from '../../src/operations/chat/prompt-estimate.js'
import type { ChatMessage, ChatRequest } from '../../src/protocol/chat-request.js'
import { keepExactData } from '../../src/protocol/exact-data.js'
import { closedSchema } from '../../src/providers/anthropic/closed-schema.js'
import { prepareMessages } from '../../src/providers/openai-compatible/history.js'
import { fittingFields } from '../../src/providers/openai-compatible/limits.js'
import { FULL_FORM } from '../../src/providers/openai-compatible/request.js'
import { HONEST_PROMPTS } from '../helpers/honest-prompts.js'

const MODEL: Model = { id: 'acme/fast', created: 0, ownedBy: 'acme' }

const byteCounter = createByteCounter()

/** Counts at most one token for three characters, and at least one for four. */
const counter: TokenCounter = {
  tally() {
    let text = ''
    return {
      add: (more) => {
        text += more
      },
      atMost: () => Math.ceil(text.length / 3),
      atLeast: () => Math.floor(text.length / 4),
    }
  },
}

const user = (content: unknown): ChatMessage => ({ role: 'user', content })
const request = (messages: readonly ChatMessage[], more: object = {}) => ({
  model: 'm',
  messages: [...messages],
  ...more,
})

function estimate(messages: readonly ChatMessage[], more: object = {}, model = MODEL) {
  const counters = { counter, upperCounter: byteCounter, neverOverdraw: false }
  const made = estimatePrompt(request(messages, more), model, counters)
  return { atMost: made.atMost(), atLeast: made.atLeast }
}

function bound(
  messages: readonly ChatMessage[],
  more: object = {},
  model = MODEL,
  upperCounter = byteCounter,
) {
  return estimatePrompt(request(messages, more), model, {
    counter,
    upperCounter,
    neverOverdraw: true,
  }).atMost(2)
}

/** The header of a PNG of this size, as a data: address. */
function png(width: number, height: number): string {
  const bytes = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\0', 'latin1')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return `data:image/png;base64,${bytes.toString('base64')}`
}

const image = (url: string) => ({ type: 'image_url', image_url: { url } })
const PDF = { type: 'file', file: { filename: 'report.pdf', file_data: 'A'.repeat(10_000) } }

describe('the estimate of a prompt', () => {
  it('errs high for a hold and low for a charge, and adds 8 tokens for each message', () => {
    expect(estimate([user('x'.repeat(12))])).toEqual({ atMost: 4 + 8, atLeast: 3 })
    expect(estimate([user(''), user(''), user('')])).toEqual({ atMost: 24, atLeast: 0 })
  })

  it('is multiplied by the factor of an adapter, except for media', () => {
    const counters = { counter, upperCounter: byteCounter, neverOverdraw: false }
    const made = estimatePrompt(
      request([user([{ type: 'text', text: 'x'.repeat(12) }, PDF])]),
      MODEL,
      counters,
    )
    expect(made.atMost(1.5) - made.atMost()).toBe(Math.ceil((4 + 4) * 1.5) - 8)
  })

  it('counts media independently of their bytes, and charges only their text', () => {
    const parts = [
      { type: 'text', text: 'x'.repeat(12) },
      image(`data:image/png;base64,${'A'.repeat(9_000)}`),
      PDF,
    ]
    const name = Math.ceil(PDF.file.filename.length / 3)
    expect(estimate([user(parts)])).toEqual({ atMost: 4 + name + 8 + 3_000 + 8_000, atLeast: 3 })
    expect(estimate([user(parts)], {}, { ...MODEL, mediaTokens: 50 })).toEqual({
      atMost: 4 + name + 8 + 50 + 50,
      atLeast: 3,
    })
    for (const type of ['input_audio', 'video_url', 'audio_url'])
      expect(estimate([user([{ type, [type]: { url: 'https://x', data: 'AAAA' } }])]).atMost).toBe(8 + 8_000)
  })

  it.each([
    [1, 1, 1_600],
    [768, 768, 1_600],
    [2_304, 1_536, 1_600],
    [2_305, 1_536, 260 * 8],
    [7_680, 7_680, 26_000],
  ])('counts an image of %i x %i pixels as %i tokens', (width, height, tokens) => {
    expect(estimate([user([image(png(width, height))])]).atMost).toBe(8 + tokens)
    expect(estimate([user([{ type: 'input_image', image_url: png(width, height) }])]).atMost).toBe(8 + tokens)
  })

  it('counts images that the client sends back with a reply', () => {
    const reply = { role: 'assistant', content: null, images: [image(png(10, 10))] }
    expect(estimate([reply])).toEqual({ atMost: 8 + 1_600, atLeast: 0 })
  })

  it.each([{}, { type: 'text' }, { type: 'picture' }])(
    'counts an image in an earlier reply with the members %j too',
    (members) => {
      const given = { ...members, image_url: { url: 'https://example.com/a.png' } }
      const reply = { role: 'assistant', content: null, images: [given] }
      expect(estimate([reply]).atMost).toBe(8 + 3_000)
      expect(bound([reply], {}, { ...MODEL, mediaTokens: 5_000 })).toBe(5_000 + 2 + 16 + 200)
      expect(() => bound([reply])).toThrow('messages.0.images.0 is not accepted')
    },
  )

  it('counts the content of a text file, which a model reads as it is', () => {
    const text = 'a b c d '.repeat(100)
    const base64 = Buffer.from(text).toString('base64')
    for (const address of [
      `data:text/plain,${text}`,
      `data:application/json;charset=utf-8;base64,${base64}`,
    ]) {
      const tokens = Math.ceil(text.length / 3) + 8
      expect(estimate([user([image(address)])]).atMost).toBe(tokens + 3_000)
      expect(estimate([user([{ type: 'file', file: { file_data: address } }])]).atMost).toBe(tokens + 8_000)
      expect(bound([user([image(address)])], {}, { ...MODEL, mediaTokens: 50 })).toBe(
        text.length + 2 + 16 + 200,
      )
    }
  })

  it('still counts an image that has text next to it', () => {
    expect(estimate([user([{ ...image('data:,'), text: '' }])]).atMost).toBe(8 + 3_000)
  })

  it('counts a refusal and thinking as text', () => {
    const refused = { role: 'assistant', content: [{ type: 'refusal', refusal: 'x'.repeat(30_000) }] }
    expect(estimate([refused])).toEqual({ atMost: 10_000 + 8, atLeast: 7_500 })
    const part = { type: 'thinking', thinking: [{ type: 'text', text: 'x'.repeat(30_000) }] }
    expect(estimate([{ role: 'assistant', content: [part] }]).atMost).toBe(
      Math.ceil(JSON.stringify(part).length / 3) + 8,
    )
  })

  it('counts reasoning once if it has two names', () => {
    const said = { role: 'assistant', content: '', reasoning: 'x'.repeat(30) }
    expect(estimate([{ ...said, reasoning_content: said.reasoning }])).toEqual(estimate([said]))
    expect(estimate([{ ...said, reasoning_content: 'y'.repeat(30) }]).atMost).toBe(20 + 8)
  })

  it('counts tool calls and names', () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
    const tokens = Math.ceil((JSON.stringify([call]).length + 1) / 3)
    expect(estimate([{ role: 'assistant', content: null, name: 'n', tool_calls: [call] }]).atMost).toBe(
      tokens + 8,
    )
  })

  it('holds, but does not charge, for other parts of a request that may become part of a prompt', () => {
    const long = 'x'.repeat(3_000)
    expect(estimate([{ role: long, content: '' }])).toEqual({ atMost: 1_000 + 8, atLeast: 0 })
    expect(estimate([user('')], { named_by_the_host: long, temperature: 1, user: long })).toEqual({
      atMost: 1_000 + 8,
      atLeast: 0,
    })
  })

  it.each(['tools', 'functions', 'response_format'])('counts %s as serialised', (field) => {
    const value = [{ type: 'x'.repeat(100), parameters: { type: 'string' } }]
    const bytes = JSON.stringify(value).length
    const tools = value.map((definition) => ({ type: 'function', function: definition }))
    // Most providers get functions as tools, but the charge counts them as they came.
    const more = field === 'functions' ? JSON.stringify(tools).length - bytes : 0
    expect(estimate([user('')], { [field]: value })).toEqual({
      atMost: Math.ceil(bytes / 3) + Math.ceil(more / 3) + 8,
      atLeast: Math.floor(bytes / 4),
    })
  })

  it("asks the host's counter about media if it counts them", () => {
    const counts: TokenCounter = {
      tally() {
        let media = 0
        return {
          add() {},
          addMedia: ({ type }) => {
            media += type === 'file' ? 70 : 30
          },
          atMost: () => media,
          atLeast: () => 0,
        }
      },
    }
    const messages = [user([PDF, image('data:,')])]
    const estimated = { counter: counts, upperCounter: counts, neverOverdraw: false }
    expect(estimatePrompt(request(messages), MODEL, estimated).atMost()).toBe(8 + 100)
    expect(bound(messages, {}, MODEL, counts)).toBe(16 + 200 + 100 + 6 + 2)
  })
})

describe('the upper limit of a prompt', () => {
  it('is its bytes of UTF-8 plus 16 for each message and 200 for the request, with any adapter', () => {
    expect(bound([user('x'.repeat(12)), user('€')])).toBe(12 + 3 + 2 * 16 + 200)
  })

  it('uses the compatibility form if that is longer', () => {
    expect(bound([user('\ufdfa')])).toBe(Buffer.byteLength('\ufdfa'.normalize('NFKC')) + 16 + 200)
  })

  it('is 700 more with tools or a schema, unless the catalogue states the overhead', () => {
    const parameters = { type: 'object', properties: {} }
    const tools = [{ type: 'function', function: { name: 'f', parameters } }]
    // With a line break and a space before each member, and a space after each colon and comma.
    const bytes = JSON.stringify(tools, null, 1).replace(/[,:]/g, '$& ').length
    expect(bound([user('')], { tools })).toBe(bytes + 16 + 200 + 700)
    expect(bound([user('')], { response_format: { type: 'text' } })).toBe(20 + 16 + 200 + 700)
    expect(bound([user('')], { tools }, { ...MODEL, promptOverhead: 5 })).toBe(bytes + 16 + 5)
    expect(bound([user('')], {}, { ...MODEL, promptOverhead: 0 })).toBe(16)
  })

  it('covers JSON that a chat template writes with white space: every space and line break between digits is a token', () => {
    const digits = Array.from({ length: 1_000 }, (_, at) => at % 10)
    const tools = [{ type: 'function', function: { name: 'f', parameters: { enum: digits } } }]
    const indented = JSON.stringify(tools, null, 4)
    const tokens = indented.match(/\n *|[^\s]/g)!.length
    expect(bound([user('')], { tools })).toBeGreaterThan(tokens)
    const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: JSON.stringify(digits) } }]
    const spaced = JSON.stringify(digits).replaceAll(',', ', ')
    expect(bound([{ role: 'assistant', content: null, tool_calls: calls }])).toBeGreaterThan(spaced.length)
  })

  it('counts the result of a tool as JSON, with six bytes for any control character', () => {
    const result = (content: unknown) => [{ role: 'tool', tool_call_id: '', content }]
    const rest = 16 + 200
    // Without its call, a provider gets it as a text of the user.
    const alone = rest + 16 + orphanWords('').length
    expect(bound(result('ab'))).toBe(2 + 2 + alone)
    expect(bound(result('\u0001\b\f\u007f'))).toBe(2 + 18 + 1 + alone)
    expect(bound(result('"\\\n\r\t'))).toBe(2 + 10 + alone)
    expect(bound(result('\\b\\f'))).toBe(2 + 6 + alone)
    expect(bound([{ role: 'function', name: '', content: '\n' }])).toBe(2 + 2 + rest)
    // A list of parts may be written as it is: {"type": "text", "text": "…"}.
    expect(bound(result([{ type: 'text', text: '\u0001' }]))).toBeGreaterThanOrEqual(30 + 6 + 2 + rest)
    // What others say is text.
    expect(bound([user('\u0001')])).toBe(1 + rest)
  })

  it('charges the text of a result unchanged', () => {
    const messages = [{ role: 'tool', tool_call_id: '', content: '"'.repeat(40) }]
    const made = estimatePrompt(request(messages), MODEL, {
      counter,
      upperCounter: byteCounter,
      neverOverdraw: true,
    })
    expect(made.atLeast).toBe(10)
  })

  it('counts each further part of a reply as a message, as which the AI SDK sends it', () => {
    const parts = Array(5).fill({ type: 'text', text: 'x' })
    const reply: ChatMessage = { role: 'assistant', content: parts }
    expect(bound([reply])).toBe(5 * (1 + 2) + 5 * 16 + 200)
    expect(estimate([reply]).atMost).toBe(2 + 5 * 8)
  })

  it('counts 16 tokens for each argument of a call, and members of a schema twice that templates repeat', () => {
    const callOf = (input: string): ChatMessage => ({
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: input } }],
    })
    for (const [input, count] of [
      ['{"a":1,"b":{"c":2},"d":"}"}', 3],
      ['{"a":', 1],
      ['{}', 0],
    ] as const) {
      // The same characters, in no order that has a name.
      const mixed = [...input].sort().reverse().join('')
      expect([input, bound([callOf(input)]) - bound([callOf(mixed)])]).toEqual([input, count * 16])
    }
    const schema = { type: 'object', properties: {} }
    const toolOf = (others: object) => ({
      tools: [{ type: 'function', function: { name: 'f', parameters: { ...schema, ...others } } }],
    })
    const others = { anyOf: Array(50).fill({ required: ['abcdefgh'] }) }
    const added = bound([user('x')], toolOf(others)) - bound([user('x')], toolOf({}))
    expect(added).toBeGreaterThan(2 * JSON.stringify(others).length)
  })

  it('counts the older functions as the tools that other providers get', () => {
    const functions = Array.from({ length: 20 }, (_, index) => ({ name: `f${index}` }))
    const tools = functions.map((definition) => ({ type: 'function', function: definition }))
    expect(bound([user('x')], { functions })).toBe(bound([user('x')], { tools }))
    const sent = JSON.stringify({
      type: 'function',
      function: { name: 'f0', parameters: { type: 'object', properties: {} } },
    })
    const each = (bound([user('x')], { functions }) - bound([user('x')], { functions: [] })) / 20
    expect(each).toBeGreaterThanOrEqual(sent.length)
  })

  it('adds 2 tokens for each part, and 6 for a file', () => {
    const text = { type: 'text', text: 'x' }
    expect(bound([user([text, text, text])])).toBe(3 * 3 + 16 + 200)
    expect(
      bound([user([image(png(1, 1)), PDF])], {}, { ...MODEL, mediaTokens: { image: 50, pdf: 50_000 } }),
    ).toBe(50 + 2 + 50_000 + 6 + 'report.pdf'.length + 16 + 200)
  })

  it('counts six bytes for each character that the provider of a route escapes in tools and their results', () => {
    const bounds = (text: string) => {
      const tools = [{ type: 'function', function: { name: 'f', description: text } }]
      const messages = [user(text), { role: 'tool', tool_call_id: '', content: text }]
      const counters = { counter, upperCounter: byteCounter, neverOverdraw: true }
      const made = estimatePrompt(request(messages, { tools }), MODEL, counters)
      return [made.atMost(1, 'html') - made.atMost(), made.atMost(1, 'ascii') - made.atMost()]
    }
    expect(bounds('plain')).toEqual([0, 0])
    expect(bounds("<>&'")).toEqual([2 * 4 * 5, 0])
    expect(bounds('\u2028')).toEqual([2 * 3, 2 * 3])
    expect(bounds('é')).toEqual([0, 2 * 4])
    expect(bounds('😀')).toEqual([0, 2 * 8])
    // Its normal form is longer than its escape, and a template need not escape it everywhere.
    expect(bounds('\ufdfa')).toEqual([0, 0])
  })

  it.each(Object.entries(HONEST_PROMPTS))(
    'is at most 1.3 times as much as before for an honest prompt with tools in %s',
    (_, { before, request: honest }) => {
      const made = estimatePrompt(honest, MODEL, { counter, upperCounter: byteCounter, neverOverdraw: true })
      expect(made.atMost() / before).toBeLessThanOrEqual(1.3)
      expect(made.atMost(1, 'html') / before).toBeLessThanOrEqual(1.3)
    },
  )

  it('counts the digits of numbers in schemas, which providers get as they are', () => {
    const digits = '1'.repeat(4_000)
    const fraction = `0.${'3'.repeat(2_000)}`
    const schema = `{"type":"object","properties":{"a":{"enum":[${digits},"${digits}",1,${fraction}]}}}`
    const shapes = {
      tools: `"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]`,
      functions: `"functions":[{"name":"f","parameters":${schema}}]`,
      format: `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`,
    }
    for (const [shape, member] of Object.entries(shapes)) {
      const text = `{"model":"m","messages":[],${member}}`
      const plain = JSON.parse(text) as ChatRequest
      const exact = JSON.parse(text) as ChatRequest
      keepExactData(exact, text)
      const [rounded, exactly] = [plain, exact].map((given) => {
        const counters = { counter, upperCounter: byteCounter, neverOverdraw: true }
        const { atMost, atLeast } = estimatePrompt(given, MODEL, counters)
        return [atMost(), atLeast] as const
      }) as [readonly [number, number], readonly [number, number]]
      expect([shape, exactly[0] - rounded[0]]).toEqual([shape, 6_002])
      expect(exactly[1] - rounded[1]).toBeGreaterThanOrEqual(1_500)
    }
  })

  it("is at most the model's context", () => {
    expect(bound([user('x'.repeat(10_000))], {}, { ...MODEL, contextLength: 1_000 })).toBe(1_000)
  })

  it("takes the catalogue's number for each medium, or else the whole context", () => {
    const messages = [user([image(png(10, 10)), image('https://example.com/a.png')])]
    expect(bound(messages, {}, { ...MODEL, mediaTokens: 5_000 })).toBe(10_000 + 4 + 16 + 200)
    expect(bound(messages, {}, { ...MODEL, contextLength: 4_000 })).toBe(4_000)
    expect(bound(messages, {}, { ...MODEL, contextLength: 90_000, mediaTokens: 5_000 })).toBe(
      10_000 + 4 + 216,
    )
    expect(bound(messages, {}, { ...MODEL, mediaTokens: { image: 40, pdf: 9_000 } })).toBe(80 + 4 + 216)
  })

  it('does not exist for media that the catalogue does not list', () => {
    try {
      bound([user('x'), user([{ type: 'text', text: 'y' }, PDF])])
      expect.unreachable()
    } catch (error) {
      if (!isCompatError(error)) throw error
      expect(error).toMatchObject({ code: 'invalid_request', status: 400, param: 'messages.1.content.1' })
      expect(error.message).toContain('mediaTokens')
    }
  })
})

describe('a predicted output', () => {
  it('is counted as output', () => {
    const counters = { counter, upperCounter: byteCounter, neverOverdraw: false }
    const predicted = (content: unknown) => request([], { prediction: { type: 'content', content } })
    expect(predictedTokens(predicted('x'.repeat(30)), counters)).toBe(10)
    expect(predictedTokens(predicted('x'.repeat(30)), { ...counters, neverOverdraw: true })).toBe(30)
    expect(predictedTokens(predicted([{ type: 'text', text: 'x' }]), counters)).toBeGreaterThan(0)
    expect(predictedTokens(request([]), counters)).toBe(0)
  })
})

describe('a prompt may have media', () => {
  const hasMedia = (message: ChatMessage, more: object = {}) =>
    [true, false].map((neverOverdraw) => {
      const counters = { counter, upperCounter: byteCounter, neverOverdraw }
      return estimatePrompt(request([message], more), { ...MODEL, contextLength: 1_000 }, counters).hasMedia
    })
  const assistant = (more: object): ChatMessage => ({ role: 'assistant', content: null, ...more })

  it.each<[string, ChatMessage, object?]>([
    ['an image', user([{ type: 'text', text: 'What is it?' }, image('https://example.com/a.png')])],
    ['audio', user([{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }])],
    ['a file', user([PDF])],
    ['a video', user([{ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }])],
    ['the image of an earlier reply', assistant({ images: [{ image_url: { url: png(1, 1) } }] })],
    ['the audio of an earlier reply', assistant({ audio: { id: 'audio_1' } })],
    ['a field that only the host knows', user('Hi'), { reference: { image: 'https://example.com/a.png' } }],
  ])('if it has %s', (_, message, more) => {
    expect(hasMedia(message, more)).toEqual([true, true])
  })

  it('unless it has only text and tools', () => {
    const text = user([{ type: 'text', text: 'Hi' }])
    const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }]
    const more = { tools, tool_choice: 'auto', modalities: ['text', 'audio'], temperature: 1 }
    expect(hasMedia(text, more)).toEqual([false, false])
    const reply = assistant({ reasoning: 'Hm.', tool_calls: [{ id: 'a', type: 'function', function: {} }] })
    expect(hasMedia(reply)).toEqual([false, false])
  })
})

it('the upper bound of a prompt covers the properties that schemas of tools get', () => {
  for (const parameters of [{}, { type: 'object' }, { type: 'object', additionalProperties: false }]) {
    const tools = Array.from({ length: 50 }, () => ({
      type: 'function',
      function: { name: 'f', parameters },
    }))
    const sent = fittingFields({ tools })
    expect(sent).not.toEqual({})
    expect(bound([], { tools })).toBeGreaterThanOrEqual(bound([], sent))
  }
})

it('the upper bound of a prompt covers what Claude gets to close each object of a schema for a reply', () => {
  const inner = { type: 'object', properties: { a: { type: 'string' } } }
  const schema = { ...inner, properties: Object.fromEntries([...'abcdefghij'].map((name) => [name, inner])) }
  const asked = (of: object) => ({ response_format: { type: 'json_schema', json_schema: { schema: of } } })
  expect(closedSchema(schema)).not.toEqual(schema)
  // Nothing is added to what stands there.
  const sent = { functions: asked(closedSchema(schema)).response_format }
  expect(bound([], asked(schema))).toBeGreaterThanOrEqual(bound([], sent))
})

it('the upper bound of a prompt covers the names that providers get instead of those that they do not take', () => {
  const names = Array.from({ length: 50 }, (_, index) => [`${index}.a`, `_${index}_a`]).flat()
  const chat = (list: readonly string[]) => ({
    tools: list.map((name) => ({ type: 'function', function: { name } })),
  })
  const sent = fittingNames(new Set(names), PLAIN_NAME)
  expect(sent.size).toBe(50)
  const fitting = names.map((name) => sent.get(name) ?? name)
  expect(bound([], chat(names))).toBeGreaterThanOrEqual(bound([], chat(fitting)))
})

describe('the upper bound of a conversation whose results do not follow their calls', () => {
  const calls = (...ids: readonly string[]): ChatMessage => ({
    role: 'assistant',
    content: null,
    tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
  })
  const result = (id: string, content: unknown = 'x'): ChatMessage => ({
    role: 'tool',
    tool_call_id: id,
    content,
  })
  const many = Array.from({ length: 50 }, (_, index) => `c${index}`)

  it.each([
    ['calls without results', [calls(...many), user('x')]],
    ['results without calls', [user('x'), ...many.map((id) => result(id))]],
    [
      'media in results',
      [
        calls(...many),
        ...many.map((id) => result(id, [{ type: 'image_url', image_url: { url: png(9, 9) } }])),
      ],
    ],
    ['a message between a call and its result', [calls('a'), user('x'), result('a')]],
    ['calls without ids', [calls(...many.map(() => '')), ...many.map(() => result(''))]],
    ['one id in many turns', many.flatMap(() => [calls('c'), result('c')])],
  ])('covers what a provider gets instead: %s', (_name, messages) => {
    const model = { ...MODEL, mediaTokens: 100 }
    const sent = prepareMessages(messages, FULL_FORM.history)
    expect(sent).not.toEqual(messages)
    expect(bound(messages, {}, model)).toBeGreaterThanOrEqual(bound(sent, {}, model))
  })

  it('covers the replies that Mistral gets after results', () => {
    const messages = many.flatMap((id) => [
      calls(id),
      result(id, [{ type: 'image_url', image_url: { url: png(9, 9) } }]),
      user('x'),
    ])
    const model = { ...MODEL, mediaTokens: 100 }
    const sent = prepareMessages(messages, { ...FULL_FORM.history, answersResults: true })
    expect(sent.filter(({ content }) => content === 'OK')).toHaveLength(50)
    expect(bound(messages, {}, model)).toBeGreaterThanOrEqual(bound(sent, {}, model))
  })
})

it('the upper bound of a prompt covers the functions that stand for custom tools', () => {
  const grammar = { syntax: 'lark', definition: 'start: "a"' } as const
  for (const format of [undefined, grammar]) {
    const custom = { name: 'f', ...(format && { format: { type: 'grammar', grammar } }) }
    const { description, parameters } = functionForCustom({
      kind: 'custom',
      name: 'f',
      grammar: format,
      cache: false,
    })
    const plain = { name: 'f', description, parameters }
    const tools = (tool: object) => ({ tools: Array.from({ length: 50 }, () => tool) })
    const sent = bound([], tools({ type: 'function', function: plain }))
    expect(bound([], tools({ type: 'custom', custom }))).toBeGreaterThanOrEqual(sent)
  }
})
