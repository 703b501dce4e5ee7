import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import type { AIMessageChunk } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import {
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  setTracingDisabled,
  withTrace,
} from '@openai/agents'
import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import OpenAI from 'openai'
import { plainInput } from './carried.js'
import type { Api, Json } from './shape.js'

/** A reply of the router, as it came over its socket. */
export interface Captured {
  readonly status: number
  readonly headers: Headers
  readonly bytes: string
  readonly stream: boolean
}

/** What a library read in a reply. */
export interface Heard {
  readonly text: string
  readonly refusal?: string
  /** Absent if the library does not read thoughts. */
  readonly thought?: string | undefined
  readonly calls: readonly { readonly name: string; readonly input: string }[]
  readonly finish?: string | null
  /** What the client sends back in the next turn, in its API. */
  readonly history?: readonly Json[]
  /** The credits that the reply says. */
  readonly cost?: number
}

export interface Library {
  readonly name: string
  /** Rejects if the library cannot read the reply. */
  read(reply: Captured): Promise<Heard>
}

setTracingDisabled(true)

const MODEL = 'm'
const apiKey = 'sk-nobody'
const baseURL = 'http://127.0.0.1:9/v1'
const USER = { role: 'user' as const, content: 'Hi' }

/** A `fetch` that answers with the reply. */
const replay =
  ({ bytes, headers, status }: Captured) =>
  async (): Promise<Response> =>
    new Response(bytes, { status, headers })

const costOf = (usage: unknown) => (usage as { readonly cost?: number } | undefined)?.cost
const joined = (texts: readonly (string | null | undefined)[]) => texts.map((text) => text ?? '').join('')

/** The data of a stream's events. */
export function eventsOf(bytes: string): Json[] {
  return bytes
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => JSON.parse(line.slice('data: '.length)) as Json)
}

// Chat

async function openaiChat(reply: Captured): Promise<Heard> {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, fetch: replay(reply) })
  const request = { model: MODEL, messages: [USER] }
  const completion = reply.stream
    ? await client.chat.completions.stream(request).finalChatCompletion()
    : await client.chat.completions.create(request)
  const { finish_reason: finish, message } = completion.choices[0]!
  const history = reply.stream ? assembled(reply.bytes) : (message as unknown as Json)
  return {
    text: message.content ?? '',
    refusal: message.refusal ?? '',
    // Its stream helper keeps only the last piece of a member that OpenAI does not have.
    thought: String(history.reasoning_content ?? history.reasoning ?? ''),
    calls: (message.tool_calls ?? []).map((call) =>
      call.type === 'function'
        ? { name: call.function.name, input: plainInput(call.function.arguments) }
        : { name: call.custom.name, input: call.custom.input },
    ),
    finish,
    history: [history],
    ...withCost(completion.usage),
  }
}

const withCost = (usage: unknown) => {
  const cost = costOf(usage)
  return cost === undefined ? {} : { cost }
}

interface CallPiece {
  readonly index: number
  readonly function?: { readonly name?: string; readonly arguments?: string }
}

/** A message as a client keeps it that joins the texts and lists of a stream, with the members that libraries add. */
function assembled(bytes: string): Json {
  const whole: Record<string, unknown> = { role: 'assistant', content: null, refusal: null }
  const calls: Record<string, unknown>[] = []
  for (const { choices } of eventsOf(bytes)) {
    for (const { delta, index } of (choices ?? []) as readonly { delta: Json; index: number }[]) {
      if (index !== 0) continue
      for (const { index: at, function: part, ...rest } of (delta.tool_calls ?? []) as readonly CallPiece[]) {
        const call = calls[at] ?? { function: { arguments: '' } }
        calls[at] = call
        const made = call.function as { name?: string | undefined; arguments: string }
        Object.assign(call, rest)
        made.name ??= part?.name
        made.arguments += part?.arguments ?? ''
      }
      for (const name of ['content', 'refusal', 'reasoning', 'reasoning_content', 'reasoning_details']) {
        const more = delta[name]
        if (typeof more === 'string') whole[name] = `${whole[name] ?? ''}${more}`
        else if (Array.isArray(more)) whole[name] = [...((whole[name] as unknown[]) ?? []), ...more]
      }
    }
  }
  return { ...whole, ...(calls.length > 0 && { tool_calls: calls }) }
}

async function langchain(reply: Captured): Promise<Heard> {
  const client = new ChatOpenAI({
    model: MODEL,
    apiKey,
    maxRetries: 0,
    configuration: { baseURL, fetch: replay(reply) },
  })
  let message: AIMessageChunk | undefined
  if (reply.stream) {
    for await (const chunk of await client.stream('Hi'))
      message = message === undefined ? chunk : message.concat(chunk)
  } else message = await client.invoke('Hi')
  return {
    text: message!.text,
    calls: (message!.tool_calls ?? []).map(({ args, name }) => ({ name, input: plainInput(args) })),
  }
}

/** The part of a model of the AI SDK that is used. */
interface AiModel {
  doStream(options: never): PromiseLike<{ stream: ReadableStream<object> }>
  doGenerate(options: never): PromiseLike<{ content: readonly object[] }>
}

const aiSdk =
  (modelAt: (fetch: typeof globalThis.fetch) => unknown) =>
  async (reply: Captured): Promise<Heard> => {
    const model = modelAt(replay(reply)) as AiModel
    const options = { prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] } as never
    const parts: Json[] = []
    if (reply.stream) for await (const part of (await model.doStream(options)).stream) parts.push({ ...part })
    else parts.push(...(await model.doGenerate(options)).content.map((part) => ({ ...part })))
    const failed = parts.find(({ type }) => type === 'error')
    if (failed !== undefined) throw new Error(JSON.stringify(failed))
    const textOf = (kind: string) =>
      joined(
        parts.map(({ delta, text, type }) =>
          type === `${kind}-delta` ? String(delta) : type === kind ? String(text) : '',
        ),
      )
    return {
      text: textOf('text'),
      thought: textOf('reasoning'),
      calls: parts
        .filter(({ type }) => type === 'tool-call')
        .map(({ input, toolName }) => ({ name: String(toolName), input: plainInput(input) })),
    }
  }

interface Output {
  readonly type: string
  readonly name?: string
  readonly arguments?: string
  readonly input?: string
  readonly content?: readonly { readonly type: string; readonly text?: string; readonly refusal?: string }[]
}

const agents =
  (Model: typeof OpenAIChatCompletionsModel | typeof OpenAIResponsesModel) =>
  async (reply: Captured): Promise<Heard> => {
    const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, fetch: replay(reply) })
    const model = new Model(client as never, MODEL)
    const request = {
      input: 'Hi',
      modelSettings: {},
      tools: [],
      outputType: 'text' as const,
      handoffs: [],
      tracing: false as const,
    }
    let output: readonly Output[] = []
    if (reply.stream) {
      for await (const event of model.getStreamedResponse(request))
        if (event.type === 'response_done') output = event.response.output as readonly Output[]
    } else {
      // Without a trace it fails, although it sends none.
      const response = await withTrace('conversations', () => model.getResponse(request))
      output = response.output as readonly Output[]
    }
    return {
      text: joined(
        output.flatMap(({ content, type }) =>
          type === 'message'
            ? (content ?? []).map((part) => (part.type === 'output_text' ? part.text : ''))
            : [],
        ),
      ),
      calls: output.flatMap(({ arguments: args, name = '', type }) =>
        type === 'function_call' ? [{ name, input: plainInput(args ?? '') }] : [],
      ),
    }
  }

// Responses

async function openaiResponses(reply: Captured): Promise<Heard> {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, fetch: replay(reply) })
  const request = { model: MODEL, input: 'Hi' }
  const response = reply.stream
    ? await client.responses.stream(request).finalResponse()
    : await client.responses.create(request)
  const contents = response.output.flatMap((item) => (item.type === 'message' ? item.content : []))
  return {
    text: response.output_text,
    refusal: joined(contents.map((part) => (part.type === 'refusal' ? part.refusal : ''))),
    thought: joined(
      response.output.flatMap((item) =>
        item.type === 'reasoning' ? item.summary.map(({ text }) => text) : [],
      ),
    ),
    calls: response.output.flatMap((item) => {
      if (item.type === 'function_call') {
        const { namespace } = item as { namespace?: string }
        const name = namespace === undefined ? item.name : `${namespace}__${item.name}`
        return [{ name, input: plainInput(item.arguments) }]
      }
      return item.type === 'custom_tool_call' ? [{ name: item.name, input: item.input }] : []
    }),
    finish: response.incomplete_details?.reason ?? response.status ?? null,
    history: response.output as unknown as Json[],
    ...withCost(response.usage),
  }
}

// Messages

async function anthropicSdk(reply: Captured): Promise<Heard> {
  const client = new Anthropic({ baseURL, apiKey, maxRetries: 0, fetch: replay(reply) })
  const request = { model: MODEL, max_tokens: 100, messages: [USER] }
  const message = reply.stream
    ? await client.messages.stream(request).finalMessage()
    : await client.messages.create(request)
  const blocks = message.content
  const usage = reply.stream
    ? eventsOf(reply.bytes).find(({ type }) => type === 'message_delta')?.usage
    : message.usage
  return {
    text: joined(blocks.map((block) => (block.type === 'text' ? block.text : ''))),
    thought: joined(blocks.map((block) => (block.type === 'thinking' ? block.thinking : ''))),
    calls: blocks.flatMap((block) =>
      block.type === 'tool_use' ? [{ name: block.name, input: plainInput(block.input) }] : [],
    ),
    finish: message.stop_sequence ?? message.stop_reason,
    history: blocks as unknown as Json[],
    ...withCost(usage),
  }
}

const readForOpenRouter = aiSdk((fetch) => createOpenRouter({ baseURL, apiKey, fetch }).chat(MODEL))

/** The libraries that read replies of each API. The first is that of the API's vendor. */
export const LIBRARIES: Readonly<Record<Api, readonly [Library, ...Library[]]>> = {
  chat: [
    { name: 'openai', read: openaiChat },
    { name: 'LangChain', read: langchain },
    { name: 'the Agents SDK', read: agents(OpenAIChatCompletionsModel) },
    {
      name: '@ai-sdk/openai-compatible',
      read: aiSdk((fetch) => createOpenAICompatible({ name: 'x', baseURL, apiKey, fetch })(MODEL)),
    },
    {
      name: '@openrouter/ai-sdk-provider',
      // It reads another field of thoughts, which the router sends it by its name.
      read: async (reply) => ({
        ...(await readForOpenRouter(reply)),
        thought: undefined,
      }),
    },
  ],
  responses: [
    { name: 'openai', read: openaiResponses },
    { name: 'the Agents SDK', read: agents(OpenAIResponsesModel) },
    {
      name: '@ai-sdk/openai',
      read: aiSdk((fetch) => createOpenAI({ baseURL, apiKey, fetch }).responses(MODEL)),
    },
  ],
  messages: [
    { name: '@anthropic-ai/sdk', read: anthropicSdk },
    {
      name: '@ai-sdk/anthropic',
      read: aiSdk((fetch) => createAnthropic({ baseURL, apiKey, fetch })(MODEL)),
    },
  ],
}
