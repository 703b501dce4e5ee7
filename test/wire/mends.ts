import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { AIMessage, AIMessageChunk } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { OpenAIChatCompletionsModel, setTracingDisabled, withTrace } from '@openai/agents'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProviderAdapter } from '../../src/adapters.js'
import type { RouterEvent } from '../../src/index.js'
import type { Script } from '../helpers/scripted-upstream.js'
import { type ReadChoice, readBody, readStream } from './client-schemas.js'
import { API_KEY, ask, MODEL, WireService } from './service.js'

/** Credits per million tokens: a reply of 11 + 7 tokens costs {@link COST}. */
export const PRICES = { input: '10', cachedInput: '1', cacheWrite: '12.5', output: '20', request: '0.001' }
export const COST = 0.00125
export const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

/** A reply of a provider that is good but odd. */
export interface OddReply {
  /** What the provider sends if it answers with a stream: the bytes of the body. */
  readonly stream?: string | Buffer
  /** What it sends if it answers in one body. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The one choice that clients read. */
  readonly read: Partial<ReadChoice>
  /** Other members of the message, or of the whole reply. */
  readonly message?: object
  readonly top?: object
  /** {@link COST} by default. */
  readonly cost?: number
  /** The kinds of mends that are reported; none by default. */
  readonly kinds?: readonly string[]
  readonly dropped?: readonly string[]
  /** The counts that are reported as implausible. Not tested if absent. */
  readonly implausible?: readonly string[]
}

type Mended = Extract<RouterEvent, { type: 'reply-mended' }>

const delta = (fields: object, finish: string | null = null, more: object = {}): string =>
  frame({ choices: [{ index: 0, delta: fields, finish_reason: finish }], ...more })

export const frame = (event: unknown): string => `data: ${JSON.stringify(event)}\n\n`
export const text = (content: unknown, more: object = {}): string => delta({ content }, null, more)
export const said = (fields: object): string => delta(fields)
export const calls = (...tool_calls: unknown[]): string => delta({ tool_calls })
export const END = `${delta({}, 'stop')}${frame({ choices: [], usage: USAGE })}data: [DONE]\n\n`
export const whole = (message: object, more: object = {}): object => ({
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
  usage: USAGE,
  ...more,
})

export const startService = (adapter?: (baseUrl: string) => ProviderAdapter): Promise<WireService> =>
  WireService.start({
    models: [{ id: MODEL, contextLength: 100_000, prices: PRICES }],
    ...(adapter !== undefined && { adapter }),
  })

const scriptOf = (bytes: string | Buffer, type: string, headers: OddReply['headers'] = {}): Script => [
  { head: 200, headers: { 'content-type': type, ...headers } },
  { write: bytes },
  'end',
]

/** Tests that each reply reaches each client as it should, however provider and client send and ask. */
export function testOddReplies(
  name: string,
  replies: Readonly<Record<string, OddReply>>,
  adapter?: (baseUrl: string) => ProviderAdapter,
): void {
  describe(name, () => {
    for (const wanted of [true, false]) {
      const rows = Object.entries(replies).flatMap(([what, reply]) => [
        ...('stream' in reply ? [{ what: `${what}, in a stream`, reply, bytes: reply.stream! }] : []),
        ...('body' in reply
          ? [
              {
                what: `${what}, in one body`,
                reply,
                bytes:
                  typeof reply.body === 'string' || Buffer.isBuffer(reply.body)
                    ? reply.body
                    : JSON.stringify(reply.body),
              },
            ]
          : []),
      ])
      test.each(rows)(`$what, to a client that asked for a stream: ${wanted}`, async ({ bytes, reply }) => {
        const service = await startService(adapter)
        try {
          const isStream = bytes === reply.stream
          service.upstream.script(
            scriptOf(bytes, isStream ? 'text/event-stream' : 'application/json', reply.headers),
          )
          const response = await service.post(ask({ stream: wanted }))
          const sent = await response.text()
          expect([response.status, sent]).toEqual([200, expect.any(String)])
          const read = wanted ? readStream(sent) : readBody(sent)
          expect(read.choices).toMatchObject([{ toolCalls: [], ...reply.read }])
          expect(read.usage.cost).toBe(reply.cost ?? COST)
          const { message, top } = wanted ? joined(sent) : bodyOf(sent)
          if (reply.message !== undefined) expect(message).toMatchObject(reply.message)
          if (reply.top !== undefined) expect(top).toMatchObject(reply.top)
          expect(service.upstream.requests).toHaveLength(1)
          await service.event('request-end')
          const mended = service.events.filter((event): event is Mended => event.type === 'reply-mended')
          expect([...new Set(mended.flatMap(({ kinds }) => kinds))].sort()).toEqual(
            [...(reply.kinds ?? [])].sort(),
          )
          expect(mended.flatMap(({ dropped }) => dropped)).toEqual(reply.dropped ?? [])
          if (reply.implausible === undefined) return
          const fields = service.events.flatMap((e) => (e.type === 'usage-implausible' ? [e.field] : []))
          expect(fields).toEqual(reply.implausible)
        } finally {
          await service.close()
        }
      })
    }
  })
}

interface Joined {
  message: Record<string, unknown>
  top: Record<string, unknown>
}

/** The members of a stream's deltas and chunks: lists grow, of others the last counts. */
function joined(stream: string): Joined {
  const made: Joined = { message: {}, top: {} }
  for (const line of stream.split('\n\n').filter((each) => each.startsWith('data: {'))) {
    const { choices, ...top } = JSON.parse(line.slice('data: '.length))
    Object.assign(made.top, top)
    for (const [name, value] of Object.entries(choices[0]?.delta ?? {})) {
      const known = made.message[name]
      made.message[name] = Array.isArray(known) && Array.isArray(value) ? [...known, ...value] : value
    }
  }
  return made
}

function bodyOf(body: string): Joined {
  const { choices, ...top } = JSON.parse(body)
  return { message: choices[0].message, top }
}

/** What a client library assembles. */
interface Assembled {
  readonly text: string
  /** Empty for the openai library, which reads none. */
  readonly reasoning: string
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[]
}

type Library = (baseURL: string, stream: boolean) => Promise<Assembled>

const QUESTION = { model: MODEL, messages: [{ role: 'user' as const, content: 'Say hello.' }] }

const openai: Library = async (baseURL, stream) => {
  const client = new OpenAI({ baseURL, apiKey: API_KEY, maxRetries: 0 })
  const reply = stream
    ? await client.chat.completions.stream(QUESTION).finalChatCompletion()
    : await client.chat.completions.create(QUESTION)
  const { content, tool_calls: made = [] } = reply.choices[0]!.message
  return {
    text: content ?? '',
    reasoning: '',
    calls: made.map((call) => {
      const { arguments: args, name } = (call as { function: { name: string; arguments: string } }).function
      return { name, arguments: JSON.parse(args) }
    }),
  }
}

const langchain: Library = async (baseURL, stream) => {
  const client = new ChatOpenAI({
    model: MODEL,
    apiKey: API_KEY,
    maxRetries: 0,
    configuration: { baseURL },
  })
  let message: AIMessage | AIMessageChunk | undefined
  if (stream) {
    for await (const chunk of await client.stream('Say hello.')) {
      message = message === undefined ? chunk : (message as AIMessageChunk).concat(chunk)
    }
  } else message = await client.invoke('Say hello.')
  const { additional_kwargs: more, content, tool_calls: made = [] } = message!
  return {
    text: String(content),
    reasoning: String(more.reasoning_content ?? ''),
    calls: made.map(({ args, name }) => ({ name, arguments: args })),
  }
}

/** The part of a model of the AI SDK that is used. */
interface AiModel {
  doStream(options: never): PromiseLike<{ stream: ReadableStream<object> }>
  doGenerate(options: never): PromiseLike<{ content: readonly object[] }>
}

const aiSdk =
  (modelAt: (baseURL: string) => AiModel): Library =>
  async (baseURL, stream) => {
    const model = modelAt(baseURL)
    const options = { prompt: [{ role: 'user', content: [{ type: 'text', text: 'Say hello.' }] }] } as never
    const parts: object[] = []
    if (stream) for await (const part of (await model.doStream(options)).stream) parts.push(part)
    else parts.push(...(await model.doGenerate(options)).content)
    const made: { name: string; arguments: unknown }[] = []
    let assembled = ''
    let reasoning = ''
    for (const part of parts as Record<string, string>[]) {
      if (part.type === 'text-delta') assembled += part.delta
      else if (part.type === 'text') assembled += part.text
      else if (part.type === 'reasoning-delta') reasoning += part.delta
      else if (part.type === 'reasoning') reasoning += part.text
      else if (part.type === 'tool-call') {
        made.push({ name: part.toolName!, arguments: JSON.parse(part.input!) })
      } else if (part.type === 'error') throw new Error(JSON.stringify(part))
    }
    return { text: assembled, reasoning, calls: made }
  }

/** The part of an item of the Agents SDK that is read. */
interface AgentItem {
  readonly type: string
  readonly content?: readonly { readonly text?: string }[]
  readonly rawContent?: readonly { readonly text: string }[]
  readonly name?: string
  readonly arguments?: string
}

const agents: Library = async (baseURL, stream) => {
  setTracingDisabled(true)
  const client = new OpenAI({ baseURL, apiKey: API_KEY, maxRetries: 0 })
  const model = new OpenAIChatCompletionsModel(client as never, MODEL)
  const request = {
    input: 'Say hello.',
    modelSettings: {},
    tools: [],
    outputType: 'text',
    handoffs: [],
    tracing: false,
  } as const
  let items: readonly AgentItem[] = []
  await withTrace('test', async () => {
    if (!stream) items = (await model.getResponse(request as never)).output as readonly AgentItem[]
    else {
      for await (const event of model.getStreamedResponse(request as never)) {
        if (event.type === 'response_done') items = event.response.output as readonly AgentItem[]
      }
    }
  })
  const of = (type: string) => items.filter((item) => item.type === type)
  const texts = (parts: AgentItem['content'] = []) => parts.map(({ text }) => text ?? '').join('')
  return {
    text: of('message')
      .map(({ content }) => texts(content))
      .join(''),
    reasoning: of('reasoning')
      .map(({ rawContent }) => texts(rawContent))
      .join(''),
    calls: of('function_call').map(({ arguments: args, name }) => ({
      name: name!,
      arguments: JSON.parse(args!),
    })),
  }
}

/** Each reads a reply of {@link MODEL} at a base URL. */
export const libraries: Readonly<Record<string, Library>> = {
  openai,
  langchain,
  "OpenAI's Agents SDK": agents,
  'the AI SDK': aiSdk(
    (baseURL) => createOpenAICompatible({ name: 'x', baseURL, apiKey: API_KEY })(MODEL) as unknown as AiModel,
  ),
  "OpenRouter's client": aiSdk(
    (baseURL) => createOpenRouter({ baseURL, apiKey: API_KEY }).chat(MODEL) as unknown as AiModel,
  ),
}

/** Tests that every client library assembles the same message from each reply. */
export function testAssemblers(replies: Readonly<Record<string, OddReply>>): void {
  describe.each(Object.keys(libraries))('%s assembles', (library) => {
    let service: WireService
    beforeAll(async () => {
      service = await startService()
    })
    afterAll(() => service.close())
    test.each(Object.keys(replies))('%s', async (name) => {
      const reply = replies[name]!
      for (const stream of [true, false]) {
        const bytes = reply.stream ?? JSON.stringify(reply.body)
        service.upstream.script(
          scriptOf(bytes, reply.stream === undefined ? 'application/json' : 'text/event-stream'),
        )
        const assembled = await libraries[library]!(service.host.baseUrl, stream)
        expect(assembled).toMatchObject({
          text: reply.read.text ?? '',
          calls: (reply.read.toolCalls ?? []).map(({ arguments: args, name: called }) => ({
            name: called,
            arguments: JSON.parse(args),
          })),
        })
      }
    })
  })
}
